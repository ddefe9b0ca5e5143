"""``trueodds-study``: listed, run, and quick to find."""

import dataclasses
import datetime as dt
import json
import os
import signal
import subprocess
import sys

import pytest

from trueodds_studies.cli import main


@pytest.fixture
def run(capsys):
    """Run a command line; returns exit code, standard output and standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leave:
            main(words)
        captured = capsys.readouterr()
        return int(leave.value.code or 0), captured.out, captured.err

    return call


def test_studies_are_listed(run):
    found = json.loads(run("--json")[1])["studies"]
    assert "beta" in found
    assert run()[1].split() == found
    code, _, said = run("bta")
    assert code == 2
    assert "did you mean" in said


def test_the_program_explains_itself(run):
    code, page, _ = run("--help")
    assert code == 0
    assert "Usage: trueodds-study" in page
    assert "Examples:" in page
    assert "trueodds-study beta --profile quick" in page
    assert "Run the experiments of a paper" in page
    assert "See 'trueodds-study --help'" in run("beta", "--color")[2]


def test_a_study_is_run_and_its_report_saved(run, tmp_path, monkeypatch):
    from toy_study import STUDY

    monkeypatch.setattr("trueodds_studies.available", lambda: ["toy"])
    monkeypatch.setattr("trueodds_studies.find_study", lambda name: STUDY)
    code, page, said = run("toy", "-o", str(tmp_path))
    assert code == 0
    assert page.startswith("# ")
    assert f"{tmp_path}: report of the study toy (quick)." in said
    assert (tmp_path / "toy.md").exists()


def test_a_study_that_is_stopped_says_where_it_goes_on(run, tmp_path, monkeypatch):
    from toy_study import STUDY

    def stopped(todo, scratch):
        os.kill(os.getpid(), signal.SIGTERM)
        yield from STUDY.run(todo, scratch)

    study = dataclasses.replace(STUDY, run=stopped)
    monkeypatch.setattr("trueodds_studies.available", lambda: ["toy"])
    monkeypatch.setattr("trueodds_studies.find_study", lambda name: study)
    code, _, said = run("toy", "-o", str(tmp_path))
    assert code == 143
    assert said == (
        f"{tmp_path} keeps the results so far; the same command goes on from there.\n"
        "trueodds: terminated; no partial output was written.\n"
    )


def test_all_studies_are_run_into_one_folder_with_an_overview_of_their_claims(
    run, tmp_path, monkeypatch
):
    from toy_study import STUDY

    monkeypatch.setattr("trueodds_studies.available", lambda: ["toy"])
    monkeypatch.setattr("trueodds_studies.find_study", lambda name: STUDY)
    code, page, said = run("all", "-o", str(tmp_path))
    assert code == 0
    assert "overview of 1 studies (quick)" in said
    assert (tmp_path / "toy" / "results.parquet").exists()
    assert (tmp_path / "toy.md").exists()
    assert page.strip() == (tmp_path / "claims.md").read_text().strip()
    day = dt.datetime.now(dt.UTC).date().isoformat()
    assert f"| [toy](toy.md) | 2 | 1 | 0 | 0 | 0 | 1 | 1 | {day} | 0 |" in page
    assert "| Pigs fly \\| or not. | page 2 | *not tested* |" in page
    (tmp_path / "claims.md").unlink()
    code, _, said = run("overview", "-o", str(tmp_path))
    assert code == 0
    assert "overview of the claims" in said
    assert (tmp_path / "claims.md").read_text().strip() == page.strip()
    again = run("toy", "-o", str(tmp_path / "toy"), "--judge")[1]
    assert again.strip() == (tmp_path / "toy.md").read_text().strip()


@pytest.mark.parametrize(("words", "shown"), [(["--help"], "study"), ([], "beta")])
def test_finding_studies_loads_no_heavy_library(words, shown):
    script = (
        "import sys\n"
        "from trueodds.cli.app import run\n"
        "from trueodds_studies.cli import study\n"
        f"run({words!r}, 'trueodds-study', study)\n"
        "heavy = {'numpy', 'scipy', 'pyarrow', 'pandas', 'sklearn', 'matplotlib'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip() == ""
    assert shown in result.stdout


def test_what_the_package_offers_is_found_when_it_is_asked_for():
    import trueodds_studies

    assert set(trueodds_studies.__all__) <= set(dir(trueodds_studies))
    for name in trueodds_studies.__all__:
        assert getattr(trueodds_studies, name) is not None
    with pytest.raises(AttributeError, match="'trueodds_studies' has no attribute 'nonsense'"):
        trueodds_studies.nonsense  # noqa: B018
