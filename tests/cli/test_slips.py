"""Slips of the first day: each is read as it was meant, or answered with what to type."""

import json
import shlex

import pytest

import trueodds

WORDS = ["-s", "p", "-l", "y"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("evaluate scores.csv --level 95", "'95' is not a share; type 0.95."),
        ("evaluate scores.csv --level 95%", "'95%' is not a share; type 0.95."),
        ("evaluate scores.csv --level 0.2", "it must lie between 0.5 and 0.999; got '0.2'."),
        ("evaluate scores.csv --level many", "'many' is not a number."),
        ("evaluate scores.csv --threshold 20%", "'20%' is not a share; type 0.2."),
        ("evaluate scores.csv --tolerance 2", "'2' is not a share; type 0.02."),
        ("fit scores.csv --interval 90%", "'90%' is not a share; type 0.9."),
        ("threshold scores.csv --at-most 5%", "'5%' is not a share; type 0.05."),
        ("threshold scores.csv --at-most 5", "--at-most 5 is not a share; type 0.05."),
        ("threshold scores.csv --at-most 0.1 --confidence 95", "'95' is not a share; type 0.95."),
        ("report scores.csv --at-most 5%", "'5%' is not a share; type 0.05."),
        ("fit scores.csv -m platt", "unknown method 'platt'; did you mean 'logistic'?"),
        ("fit scores.csv -m plat", "unknown method 'plat'; did you mean 'logistic'?"),
        ("fit scores.csv -m Sigmoid", "unknown method 'Sigmoid'; did you mean 'logistic'?"),
        ("fit scores.csv -m betta", "did you mean 'beta'?"),
        ("fit scores.csv -m beta,isotonic", "run 'trueodds compare' with -m beta,isotonic."),
        ("fit scores.csv -m beta -m isotonic", "'fit' takes one --method; to compare methods"),
        ("fit scores.csv -l y -l z", "run the command once for each."),
        ("evaluate scores.csv --seed 1 --seed 2", "'evaluate' takes one --seed."),
    ],
)
def test_a_slip_is_answered_with_what_to_type(run, data, monkeypatch, words, answer):
    monkeypatch.chdir(data)
    result = run(*shlex.split(words))
    assert result.code == 2
    assert answer in result.err
    assert result.err.endswith(f"See 'trueodds {words.split()[0]} --help'.\n")
    assert result.err.count("\n") == 1


def test_a_mean_cost_may_be_above_1(run, data):
    words = [*WORDS, "--at-most", "2", "--risk", "cost", "--cost-fp", "5"]
    assert run("threshold", data / "scores.csv", *words).code == 0


def test_methods_are_split_at_commas(run, data):
    one = run("compare", data / "scores.csv", *WORDS, "-m", "beta, isotonic", "--json").json
    two = run("compare", data / "scores.csv", *WORDS, "-m", "beta", "-m", "isotonic", "--json").json
    assert [row["method"] for row in one["methods"]] == ["identity", "beta", "isotonic"]
    assert one["explanation"] == two["explanation"]


@pytest.mark.parametrize("name", ["--group", "-g", "--feature"])
def test_groups_have_one_name_in_every_command(run, data, tmp_path, name):
    for command, more in (
        ("evaluate", ["--resamples", "20"]),
        ("fit", ["-o", tmp_path / "map.json"]),
        ("compare", ["-m", "group", "--cv", "2"]),
        ("report", ["-m", "beta", "--cv", "2", "-o", tmp_path / "page.html"]),
        ("threshold", ["--at-most", "0.4"]),
    ):
        result = run(command, data / "scores.csv", *WORDS, name, "g", *more)
        assert result.code == 0, result.err
    assert trueodds.load(tmp_path / "map.json").features == ("g",)


def test_a_map_comes_through_a_pipe(run, feed, data, tmp_path):
    printed = run("fit", data / "scores.csv", *WORDS, "-m", "beta").out.encode()
    direct = tmp_path / "map.json"
    direct.write_bytes(printed)
    for words in (
        ["show", "MAP", "--json"],
        ["export", "MAP", "--to", "sql"],
        ["diff", "MAP", data / "map.json"],
        ["diff", data / "map.json", "MAP", "--json"],
        ["apply", "MAP", data / "scores.csv", "-s", "p", "-o", "-"],
    ):
        named = run(*(direct if word == "MAP" else word for word in words))
        feed(printed)
        piped = run(*("-" if word == "MAP" else word for word in words))
        assert piped.code == 0, piped.err
        words_of_file = piped.out.replace('"-"', json.dumps(str(direct)))
        assert words_of_file.replace("standard input", str(direct)) == named.out
    feed(b"")
    assert "standard input is empty" in run("show", "-").err
    feed(b"p,y\n0.1,1\n")
    result = run("show", "-")
    assert result.code == 1
    assert "standard input is not a valid map: it is not valid JSON" in result.err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_standard_output_has_the_format_of_the_input(run_process, data, tmp_path, kind):
    path, out = data / f"scores.{kind}", tmp_path / f"out.{kind}"
    words = ["-s", "p", "-o"]
    assert run_process("apply", data / "map.json", path, *words, out).returncode == 0
    content = path.read_bytes()
    for file, given in ((path, b""), ("-", content)):
        result = run_process("apply", data / "map.json", file, *words, "-", input=given)
        assert result.returncode == 0, result.stderr
        assert result.stdout == out.read_bytes()


def test_swapped_arguments_are_recognized(run, data, tmp_path):
    out = tmp_path / "out.csv"
    result = run("apply", data / "scores.csv", data / "map.json", "-s", "p", "-o", out)
    assert result.code == 2
    assert f"{data / 'scores.csv'} is not a map, but {data / 'map.json'} is; did you swap" in (
        result.err
    )
    result = run("apply", data / "scores.csv", data / "scores.csv", "-s", "p", "-o", out)
    assert result.code == 1
    assert "is not a map but a file of rows (csv)" in result.err


def test_a_file_is_named_once(run, data, csv_file):
    result = run("show", data / "scores.csv")
    assert result.err.count("scores.csv") == 1
    broken = csv_file("{", name="broken.json")
    assert run("show", broken).err.startswith(
        f"trueodds: {broken} is not a valid map: it is not valid JSON: "
    )


def test_a_missing_file_has_one_wording(run, data):
    for words in (
        ["evaluate", "no.csv"],
        ["show", "no.csv"],
        ["apply", "no.csv", data / "scores.csv", "-o", "-"],
        ["apply", data / "map.json", "no.csv", "-o", "-"],
    ):
        result = run(*words)
        assert (result.code, result.err) == (1, "trueodds: no.csv: file not found.\n")


@pytest.mark.parametrize("command", ["evaluate", "fit", "apply", "compare", "report", "threshold"])
def test_help_shows_what_every_call_needs_first_and_unusual_files_last(run, command):
    text = run(command, "--help").out
    titles = [line.split("─ ")[1].split(" ─")[0] for line in text.splitlines() if "╭─ " in line]
    assert titles[0] == "Arguments"
    assert titles[-1] == "Unusual files"
    last = text[text.index("─ Unusual files") :]
    for name in ("--format", "--decimal", "--na", "--encoding", "--sheet", "--header-row"):
        assert name in last
    data = text[text.index("─ Data") :]
    options = [line.split()[1] for line in data.splitlines() if line.startswith("│ --")]
    assert options[0] == "--score"
    if command != "apply":
        assert options[1] == "--label"
