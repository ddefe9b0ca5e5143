"""Every command takes every layout of rows from every kind of file, or says what to do."""

import inspect
from dataclasses import dataclass, field, is_dataclass
from importlib import import_module

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from scipy.special import expit, logit
from score_files import write_table

import trueodds
from trueodds.cli.app import COMMANDS
from trueodds.cli.rows.options import ReadingOptions

N = 240
KINDS = ("csv", "parquet", "xlsx")
LETTERS = ("a", "b", "c")


def _reads_rows(module):
    name = module.rpartition(".")[2]
    signature = inspect.signature(getattr(import_module(module), name), eval_str=True)
    kinds = [p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)]
    return any(issubclass(kind, ReadingOptions) for kind in kinds)


OWN = {name: module for name, module in COMMANDS.items() if module.startswith("trueodds.cli.")}
READERS = [name for name, module in OWN.items() if _reads_rows(module)]


def _columns():
    rng = np.random.default_rng(5)
    z = rng.normal(0, 1.5, N)
    y = (rng.random(N) < expit(z)).astype(int)
    p = expit(1.6 * z)
    several = rng.dirichlet(np.ones(3), N)
    letter = (several.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)
    return {
        "id": np.arange(N),
        "p": p,
        "p0": 1 - p,
        "p1": p,
        "percent": 100 * p,
        **{f"p_{name}": several[:, k] for k, name in enumerate(LETTERS)},
        "y": y,
        "letter": np.array(LETTERS)[letter],
        "n": rng.integers(1, 4, N),
        "w": rng.uniform(0.5, 2, N),
        "g": rng.choice(["north", "south"], N),
    }


COLUMNS = _columns()


@dataclass(frozen=True)
class Layout:
    """The options of a layout, and what they mean as arrays."""

    words: tuple[str, ...]
    prob: np.ndarray
    code: np.ndarray
    counts: np.ndarray | None = None
    weight: np.ndarray | None = None
    more: dict = field(default_factory=dict)

    @property
    def mass(self):
        """What each row counts in a mean."""
        given = [w for w in (self.counts, self.weight) if w is not None]
        return np.ones(N) if not given else given[0].astype(float)

    @property
    def own(self):
        """The probability of what happened."""
        if self.prob.ndim == 1:
            return np.where(self.code == 1, self.prob, 1 - self.prob)
        return self.prob[np.arange(N), self.code]

    @property
    def top(self):
        """The probability of the event, or of the most probable class; whether it happened."""
        if self.prob.ndim == 1:
            return self.prob, self.code
        return self.prob.max(axis=1), self.prob.argmax(axis=1) == self.code

    @property
    def log_loss(self):
        return float(self.mass @ -np.log(self.own) / self.mass.sum())

    @property
    def brier_score(self):
        columns = self.prob
        if columns.ndim == 1:
            return float(self.mass @ (columns - self.code) ** 2 / self.mass.sum())
        squares = ((columns - np.eye(3)[self.code]) ** 2).sum(axis=1)
        return float(self.mass @ squares / self.mass.sum())


Y = ("-l", "y")
_LETTER = np.searchsorted(LETTERS, COLUMNS["letter"])
_SEVERAL = np.column_stack([COLUMNS[f"p_{name}"] for name in LETTERS])
P = COLUMNS["p"]
LAYOUTS = {
    "one column": Layout(("-s", "p", *Y), P, COLUMNS["y"]),
    "two columns": Layout(("-s", "p0", "-s", "p1", *Y), P, COLUMNS["y"]),
    "several classes": Layout(("-s", "p_a:p_c", "-l", "letter"), _SEVERAL, _LETTER),
    "percent": Layout(("-s", "percent", "--unit", "percent", *Y), P, COLUMNS["y"]),
    "counts": Layout(("-s", "p", "--counts", "n", *Y), P, COLUMNS["y"], counts=COLUMNS["n"]),
    "weights": Layout(("-s", "p", "--weight", "w", *Y), P, COLUMNS["y"], weight=COLUMNS["w"]),
    "groups": Layout(("-s", "p", "--group", "g", *Y), P, COLUMNS["y"]),
    "classes by group": Layout(
        ("-s", "p_a:p_c", "--group", "g", "-l", "letter"), _SEVERAL, _LETTER
    ),
    "several labels": Layout(
        ("-s", "p_a", "--positive", "a", "-l", "letter"), _SEVERAL[:, 0], (_LETTER == 0).astype(int)
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    table = pa.table(COLUMNS)
    for kind in ("csv", "parquet"):
        write_table(table, folder / f"scores.{kind}")
    book = openpyxl.Workbook()
    book.active.append(list(COLUMNS))
    for row in zip(*(column.tolist() for column in COLUMNS.values()), strict=True):
        book.active.append(row)
    book.save(folder / "scores.xlsx")
    return {kind: folder / f"scores.{kind}" for kind in KINDS}


def _close(found, expected):
    assert found == pytest.approx(expected, rel=1e-9)


def _evaluate(run, file, layout, tmp_path):
    found = run("evaluate", file, *layout.words, "--resamples", "20", "--json")
    yield found
    metrics = found.json["evaluation"]["metrics"]
    _close(metrics["log_loss"]["estimate"], layout.log_loss)
    _close(metrics["brier_score"]["estimate"], layout.brier_score)
    if "--group" in layout.words:
        for entry in found.json["groups"]["groups"]:
            inside = COLUMNS["g"] == entry["value"]
            predicted, observed = layout.top
            _close(entry["predicted"], predicted[inside].mean())
            _close(entry["observed"], observed[inside].mean())


def _compare(run, file, layout, tmp_path):
    found = run("compare", file, *layout.words, "-m", "temperature", "--cv", "2", "--json")
    yield found
    identity = found.json["methods"][0]
    assert identity["method"] == "identity"
    _close(identity["log_loss"], layout.log_loss)
    _close(identity["brier_score"], layout.brier_score)


def _report(run, file, layout, tmp_path):
    words = ["-m", "temperature", "--cv", "2", "--json"]
    found = run("report", file, *layout.words, *words)
    yield found
    identity = found.json["report"]["methods"][0]
    assert identity["method"] == "identity"
    _close(identity["log_loss"], layout.log_loss)
    _close(identity["brier_score"], layout.brier_score)


def _fit(run, file, layout, tmp_path):
    out = tmp_path / "fitted.json"
    method = [] if "--group" in layout.words else ["-m", "temperature"]
    found = run("fit", file, *layout.words, *method, "-o", out, "--force", "--json")
    yield found
    _close(found.json["losses"]["log_loss"]["before"], layout.log_loss)
    fitted = trueodds.load(out)
    if method:
        direct = trueodds.TemperatureCalibrator().fit(
            layout.prob, layout.code, layout.weight, counts=layout.counts
        )
        np.testing.assert_allclose(fitted(layout.prob), direct.map_(layout.prob), atol=1e-6)
    if layout.prob.ndim == 1:
        features = pa.table({"g": COLUMNS["g"]})
        made = fitted(layout.prob, **({} if method else {"features": features}))
        ratio = layout.mass @ layout.code / (layout.mass @ made)
        _close(found.json["observed_expected"]["after"]["estimate"], ratio)


def _apply(run, file, layout, tmp_path):
    fitted, out = _map(run, file, layout, tmp_path), tmp_path / "applied.csv"
    words = [word for word in layout.words if word not in ("-l", "y", "letter")]
    found = run("apply", fitted, file, *words, "-o", out, "--plain", "--force", "--json")
    yield found
    expected = trueodds.load(fitted)(layout.prob)
    table = pa.csv.read_csv(out)
    for k, name in enumerate(found.json["columns"]):
        column = expected if expected.ndim == 1 else expected[:, k]
        np.testing.assert_allclose(table[name].to_numpy(), column, atol=1e-12)


def _map(run, file, layout, tmp_path):
    """A map with the classes of a layout, which changes no score."""
    target = tmp_path / "map.json"
    classes = (0, 1)
    if "letter" in layout.words:
        classes = LETTERS if layout.prob.ndim == 2 else ("not a", "a")
    trueodds.maps.IdentityMap(classes=classes).save(target)
    return target


def _threshold(run, file, layout, tmp_path):
    found = run("threshold", file, *layout.words, "--at-most", "0.45", "--json")
    yield found
    inside = np.ones(N, dtype=bool)
    one = found.json.get("guarantee")
    if one is None:
        one = found.json["groups"][0]
        inside = COLUMNS["g"] == one["value"]
    prob, right = layout.top  # of several classes, the most probable one is acted on
    acted, wrong = prob[inside] >= one["threshold"], right[inside] == 0
    mass = layout.mass[inside]
    assert one["n_rows"] == mass.sum()
    assert one["n_acted"] == mass @ acted
    _close(one["estimate"], mass @ (acted & wrong) / (mass @ acted))


def _update(run, file, layout, tmp_path):
    found = run("update", file, *layout.words, "-m", "intercept", "--json")
    yield found
    intercept = found.json["update"]["coefficients"]["intercept"]["estimate"]
    made = expit(logit(layout.prob) + intercept)
    assert layout.mass @ made == pytest.approx(layout.mass @ layout.code, rel=1e-6)


def _watch(run, file, layout, tmp_path, command):
    fitted, state = _map(run, file, layout, tmp_path), tmp_path / f"{command}.json"
    state.unlink(missing_ok=True)
    words = ["--state", state, "--json"]
    if command == "stream":
        (tmp_path / "forecasts.csv").unlink(missing_ok=True)
        words += ["-o", tmp_path / "forecasts.csv"]
    return run(command, fitted, file, *layout.words, *words)


def _monitor(run, file, layout, tmp_path):
    found = _watch(run, file, layout, tmp_path, "monitor")
    yield found
    (period,) = found.json["periods"]
    assert period["rows"] == N
    if layout.prob.ndim == 1:
        assert period["expected"] == pytest.approx(layout.mass @ layout.prob, rel=1e-6)
        assert period["observed"] == layout.mass @ layout.code


def _stream(run, file, layout, tmp_path):
    found = _watch(run, file, layout, tmp_path, "stream")
    yield found
    assert found.json["rows_learned"] == N
    made = pa.csv.read_csv(tmp_path / "forecasts.csv")
    assert made.num_rows == N


CHECKS = {
    name.removeprefix("_"): check
    for name, check in globals().copy().items()
    if name.removeprefix("_") in COMMANDS and name.startswith("_")
}

ROW_BY_ROW = "each row is calibrated separately; leave it out"
COUNTED = "each row counts once, or --counts times"
REFUSED = {
    ("apply", "counts"): ROW_BY_ROW,
    ("apply", "weights"): ROW_BY_ROW,
    ("apply", "groups"): ROW_BY_ROW,
    ("apply", "classes by group"): ROW_BY_ROW,
    ("apply", "several labels"): ROW_BY_ROW,
    ("threshold", "weights"): "if the weights are numbers of rows, pass --counts",
    ("update", "several classes"): "'trueodds fit' learns several together",
    ("update", "classes by group"): "'fit --group' learns effects of groups",
    ("update", "groups"): "'fit --group' learns effects of groups",
    ("monitor", "weights"): COUNTED,
    ("stream", "weights"): COUNTED,
    (
        "stream",
        "classes by group",
    ): "run it for the rows of each group, with a map and a state for each",
    ("stream", "groups"): "run it for the rows of each group, with a map and a state for each",
}
"""Layouts that have no meaning for a command, and what it answers."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("command", READERS)
def test_every_layout_of_every_file_gives_its_figures_or_advice(
    run, files, tmp_path, command, layout
):
    for file in files.values():
        check = CHECKS[command](run, file, LAYOUTS[layout], tmp_path)
        found = next(check)
        answer = REFUSED.get((command, layout))
        if answer is not None:
            assert found.code in (1, 2)
            assert answer in found.err
            continue
        assert found.code in (0, 4), found.err
        assert list(check) == []
