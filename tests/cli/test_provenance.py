"""Maps say where they come from: written by fit, shown by show, compared by diff, kept by apply."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from score_files import write_table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import trueodds
from trueodds import maps


@pytest.fixture
def fit(run, data, tmp_path):
    """Fit a map to the scores; returns its path and what was printed."""

    def call(*words, name="map.json"):
        path = tmp_path / name
        result = run("fit", data / "scores.csv", "-s", "p", "-l", "y", *words, "-o", path)
        assert result.code == 0, result.err
        return path, result

    return call


def test_fit_says_how_the_map_was_learned(fit, table, data, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    path, _ = fit("-m", "histogram", "--option", "n_bins=9", "--weight", "w", "--note", "for x")
    metadata = trueodds.load(path).metadata
    y, p = table["y"].to_numpy(), table["p"].to_numpy()
    assert metadata["method"] == "histogram"
    assert metadata["options"]["n_bins"] == 9
    assert metadata["created"] == "1970-01-01T00:00:00Z"
    assert (metadata["rows"], metadata["positives"]) == (len(y), int(y.sum()))
    w = table["w"].to_numpy()
    assert metadata["effective_rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum(), rel=1e-12)
    assert metadata["score_range"] == [p.min(), p.max()]
    assert metadata["file"] == "scores.csv"
    assert metadata["columns"] == {"score": ["p"], "label": "y", "weight": "w"}
    assert metadata["notes"] == "for x"
    assert metadata["losses"]["rows"] == (w > 0).sum()  # a row stays one, whatever its importance


def test_fit_counts_repetitions_as_rows(fit, table):
    path, _ = fit("-m", "histogram", "--counts", "w")
    metadata = trueodds.load(path).metadata
    w, y = table["w"].to_numpy(), table["y"].to_numpy()
    assert "effective_rows" not in metadata
    assert (metadata["rows"], metadata["positives"]) == (w.sum(), w @ y)
    assert metadata["losses"]["rows"] == w.sum()


def test_the_loss_that_is_printed_is_the_one_that_is_saved(fit):
    path, result = fit("-m", "beta")
    losses = trueodds.load(path).metadata["losses"]
    pairs = [
        f"{title} {losses[name]['before']:.4f} → {losses[name]['after']:.4f}"
        for title, name in (("Log-loss", "log_loss"), ("Brier score", "brier_score"))
    ]
    said = f" {', '.join(pairs)} (after: out of fold, 5 folds, 2,000 rows). O:E "
    assert said in result.err


def test_the_losses_of_a_large_file_are_those_of_all_its_rows(run, tmp_path):
    """Scikit-learn's logistic regression on log-odds is the same method, fitted elsewhere."""
    rng = np.random.default_rng(1)
    z = rng.normal(-2, 1.5, 60_000)
    y = (rng.random(len(z)) < 1 / (1 + np.exp(-z))).astype(int)
    p = 1 / (1 + np.exp(-1.3 * z))
    path = write_table(pa.table({"p": p, "y": y}), tmp_path / "scores.parquet")
    words = ["-s", "p", "-l", "y", "-m", "logistic", "-o", tmp_path / "map.json"]
    said = run("fit", path, *words).err
    losses = trueodds.load(tmp_path / "map.json").metadata["losses"]
    loss = -np.where(y, np.log(p), np.log1p(-p))
    assert losses["log_loss"]["before"] == pytest.approx(loss.mean(), rel=1e-12)
    assert losses["brier_score"]["before"] == pytest.approx(((p - y) ** 2).mean(), rel=1e-12)
    model = LogisticRegression(C=1e9)
    q = cross_val_predict(model, 1.3 * z[:, None], y, cv=5, method="predict_proba")[:, 1]
    gain = loss + np.where(y, np.log(q), np.log1p(-q))
    error = gain.std() * np.sqrt(1 / 50_000 - 1 / len(y))  # of a sample without replacement
    assert 4 * error < gain.mean()
    assert losses["log_loss"]["after"] == pytest.approx(loss.mean() - gain.mean(), abs=3 * error)
    pair = f"{losses['log_loss']['before']:.4f} → {losses['log_loss']['after']:.4f}"
    for text in (said, run("show", tmp_path / "map.json").out):
        assert f"og-loss {pair}, Brier score" in text
        assert "(after: out of fold, 5 folds, 50,000 of 60,000 rows)" in text


def test_json_of_a_fit_has_fingerprint_and_losses(fit):
    path, result = fit("-m", "beta", "--json")
    fitted = trueodds.load(path)
    assert result.json["fingerprint"] == fitted.fingerprint
    assert result.json["losses"] == fitted.metadata["losses"]


def test_the_same_fit_is_the_same_file_if_the_clock_is_held(fit, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, _ = fit(name="a.json")
    second, _ = fit(name="b.json")
    assert first.read_bytes() == second.read_bytes()


def test_the_fingerprint_of_the_data_does_not_depend_on_the_format(run, data, tmp_path):
    found = set()
    for suffix in ("csv", "parquet", "arrow", "jsonl"):
        path = tmp_path / f"{suffix}.json"
        words = ["-s", "p", "-l", "y", "-m", "identity", "-o", path]
        assert run("fit", data / f"scores.{suffix}", *words).code == 0
        found.add(trueodds.load(path).metadata["data"])
    assert len(found) == 1


def test_a_map_knows_its_parent_and_what_auto_chose(fit):
    first, _ = fit("-m", "beta", name="old.json")
    second, _ = fit("--parent", first, name="new.json")
    metadata = trueodds.load(second).metadata
    assert metadata["parent"] == trueodds.load(first).fingerprint
    assert metadata["chosen"] == "bayesian_smooth"
    assert "recommended default" in metadata["reason"]


def test_a_fit_of_several_classes_counts_each(run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    y = (p.cumsum(axis=1) > rng.random((200, 1))).argmax(axis=1)
    columns = {f"p{k}": p[:, k] for k in range(3)}
    path = write_table(pa.table({**columns, "y": y}), tmp_path / "x.parquet")
    words = ["-s", "p0", "-s", "p1", "-s", "p2", "-l", "y", "-m", "temperature"]
    assert run("fit", path, *words, "-o", tmp_path / "m.json").code == 0
    metadata = trueodds.load(tmp_path / "m.json").metadata
    assert metadata["class_rows"] == np.bincount(y).tolist()
    assert metadata["losses"]["rows"] == 200
    shown = run("show", tmp_path / "m.json")
    assert "a 0, b 1, c 2, · no change" in shown.out
    assert "the others share the rest equally" in shown.out


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_apply_keeps_the_fingerprint_of_the_map(run, data, tmp_path, suffix):
    path = tmp_path / f"o.{suffix}"
    result = run("apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", path, "--json")
    read = pa.parquet.read_table if suffix == "parquet" else pa.feather.read_table
    expected = trueodds.load(data / "map.json").fingerprint
    assert read(path).schema.metadata[b"trueodds:map_fingerprint"] == expected.encode()
    assert result.json["fingerprint"] == expected


HOSTILE = {
    "method": "\x1b[2J\x07" + "x" * 3000,
    "reason": "two\nlines\u202e backwards",
    "notes": {"a": ["\x9b31m"] * 100},
    "score_range": [-1e300, "inf"],
    "rows": 2**53,
}


def saved(fitted, path):
    fitted.save(path)
    return path


def test_a_hostile_metadata_is_shown_without_harm(run, tmp_path):
    fitted = maps.LogOddsMap(a=1.0, b=1.0, c=0.1, classes=("\x1b[31mno", "y" * 500))
    path = saved(fitted.with_metadata(HOSTILE), tmp_path / "m.json")
    other = saved(maps.IdentityMap(), tmp_path / "other.json")
    for result in (run("show", path), run("diff", path, other), run("diff", other, path)):
        assert result.code == 0, result.err
        assert all(line.isprintable() for line in result.out.split("\n"))
        assert max(map(len, result.out.split("\n"))) < 300
        assert "\\x1b" in result.out or "\\u001b" in result.out


def test_a_malformed_metadata_is_one_sentence_on_the_command_line(run, data, tmp_path):
    document = {**maps.IdentityMap().to_dict(), "metadata": {"rows": "\x1b[2J"}}
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    for words in (("show", path), ("diff", path, path), ("export", path, "--to", "sql")):
        result = run(*words)
        assert result.code == 1
        assert result.err == (
            f"trueodds: {path} is not a valid map: metadata.rows must be a whole "
            "number, not negative; got '\\x1b[2J'.\n"
        )


def test_show_draws_the_map_and_tells_its_origin(fit, run):
    path, _ = fit("-m", "beta")
    result = run("show", path)
    fitted = trueodds.load(path)
    assert (
        f"a log_odds map of probabilities, 2 classes: 0, 1\nfingerprint  {fitted.fingerprint}"
        in (result.out)
    )
    assert re.search(r"method +beta\n", result.out)
    assert re.search(
        r"losses +log-loss 0\.\d{4} → 0\.\d{4}, Brier score .* 2,000 rows\)", result.out
    )
    assert result.out.count("*") > 61
    assert "· no change" in result.out


EXAMPLES = [
    maps.IdentityMap(),
    maps.IdentityMap(scale="raw"),
    maps.StepMap(edges=[-1.0, 2.5], values=[0.0, 0.5, 1.0], scale="raw"),
    maps.StepMap(edges=[], values=[0.5], scale="logit"),
    maps.PiecewiseLinearMap(x=[-np.inf, 0.0, np.inf], y=[0.0, 0.5, 1.0], scale="logit"),
    maps.SoftmaxMap(weights=np.eye(2), bias=[0.0, 0.1]),
    maps.SoftmaxMap(weights=np.ones(9), bias=np.zeros(9), scale="logit"),
    maps.OneVsRestMap(maps=(maps.IdentityMap(),) * 3),
    maps.AverageMap(maps=(maps.IdentityMap(),) * 2, weights=[0.5, 0.5]),
    maps.TreeMap(
        maps=tuple(maps.LogOddsMap(a=a, b=a, c=0.0) for a in (1.0, 0.5, 2.0)),
        parent=[-1, 0, 0],
        attribute=[0, -1, -1],
        cut=[1.0, 0.0, 0.0],
        weight=[9.0, 5.0, 4.0],
        names=("age",),
        categories=(None,),
        fill=[0.0],
    ),
]


@pytest.mark.parametrize("fitted", EXAMPLES, ids=lambda m: f"{m.family}-{m.scale}")
def test_every_kind_of_map_is_shown_and_equals_itself(run, tmp_path, fitted):
    path = saved(fitted, tmp_path / "m.json")
    shown = run("show", path)
    assert shown.code == 0, shown.err
    assert f"a {fitted.family} map" in shown.out
    content = run("show", path, "--json").json
    assert content["fingerprint"] == fitted.fingerprint
    assert all(0 <= v <= 1 for curve in content["curves"] for v in curve["probability"])
    same = run("diff", path, path)
    assert f"{path} and {path}: the same map, with the same metadata" in same.out
    found = run("diff", path, path, "--json").json
    assert found["same"] is True
    assert found["differences"] == []
    assert found["forecasts"]["largest"] == 0


def test_the_curve_in_json_is_that_of_the_map(run, data):
    curve = run("show", data / "map.json", "--json").json["curves"][0]
    expected = trueodds.load(data / "map.json")(curve["score"])
    np.testing.assert_array_equal(curve["probability"], expected)


def test_diff_says_how_far_two_maps_are_apart_and_where(run, tmp_path):
    first = saved(maps.StepMap(edges=[0.5], values=[0.2, 0.6]), tmp_path / "a.json")
    second = saved(
        maps.StepMap(edges=[0.75], values=[0.2, 0.7]).with_metadata({"notes": "new"}),
        tmp_path / "b.json",
    )
    found = run("diff", first, second, "--json").json
    assert found["same"] is False
    forecasts = found["forecasts"]
    assert forecasts["largest"] == pytest.approx(0.4)
    assert 0.5 <= forecasts["at_score"] < 0.75
    assert (forecasts["first"], forecasts["second"]) == (0.6, 0.2)
    assert forecasts["mean"] == pytest.approx(0.25 * 0.4 + 0.25 * 0.1, rel=0.01)
    assert [row["what"] for row in found["differences"]] == [
        "parameters.edges",
        "parameters.values",
        "metadata",
    ]
    result = run("diff", first, second)
    assert f"{first} and {second}: different maps" in result.out
    assert "differ by 0.1250 on average and by at most 0.4000 (score 0.5: 0.6000 and 0.2000)" in (
        result.out
    )
    assert "second minus first" in result.out


def test_diff_tells_true_from_1(run, tmp_path):
    first, second = (
        saved(
            maps.IdentityMap(classes=(kind(0), kind(1))).with_metadata({"notes": {"by": kind(1)}}),
            tmp_path / f"{kind.__name__}.json",
        )
        for kind in (int, bool)
    )
    found = run("diff", first, second, "--json").json
    assert [row["what"] for row in found["differences"]] == ["classes", "metadata.notes.by"]


def test_maps_of_probabilities_and_of_log_odds_are_compared_as_probabilities(run, tmp_path):
    first = saved(maps.IdentityMap(), tmp_path / "a.json")
    second = saved(maps.IdentityMap(scale="logit"), tmp_path / "b.json")
    assert run("diff", first, second, "--json").json["forecasts"]["largest"] < 1e-15


@pytest.mark.parametrize(
    ("fitted", "reason"),
    [
        (maps.IdentityMap(scale="raw"), "different scales, probability and raw"),
        (maps.SoftmaxMap(weights=np.ones(3), bias=np.zeros(3)), "one has 2 classes, the other 3"),
        (EXAMPLES[-1], "the trees have different splits"),
    ],
)
def test_what_cannot_be_compared_is_said(run, tmp_path, fitted, reason):
    first = saved(maps.LogOddsMap(a=1.0, b=1.0, c=0.0), tmp_path / "a.json")
    second = saved(fitted, tmp_path / "b.json")
    assert reason in run("diff", first, second).out
    assert reason in run("diff", first, second, "--json").json["forecasts"]["reason"]


def test_verbose_says_what_is_done(run, data, tmp_path):
    words = ["fit", data / "scores.csv", "-s", "p", "-l", "y", "-m", "beta", "-o"]
    quiet = run(*words, tmp_path / "a.json")
    for number, place in enumerate((0, 1, len(words) - 1)):
        spoken = [*words[:place], "--verbose", *words[place:]]
        said = run(*spoken, tmp_path / f"{number}.json").err.splitlines()
        assert re.fullmatch(r"trueodds: .*scores\.csv \(csv\) is read by DuckDB [\d.]+", said[0])
        assert said[1] == "trueodds: checked 2,000 rows: none left out"
        assert re.fullmatch(r"trueodds: fitted a log_odds map to 2,000 rows in .* s", said[2])
        assert "out of fold in" in said[3]
        assert len(said) == 5
    assert quiet.err.count("\n") == 1
    assert run(*words, tmp_path / "b.json").err.count("\n") == 1  # and then it is quiet again
