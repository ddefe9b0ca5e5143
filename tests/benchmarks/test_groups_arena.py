"""benchmarks/arena/groups.py: its tables, and the adapter of MCGrad."""

import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def groups():
    spec = importlib.util.spec_from_file_location(
        "groups_arena", BENCHMARKS / "arena" / "groups.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(problem, seed, method, loss):
    losses = {"ll": loss, "brier": loss / 2, "mce": loss / 4}
    return {"problem": problem, "n": 300, "seed": seed, "method": method, "cpu": 0.1, **losses}


def test_tables_have_means_over_seeds_then_over_problems_or_clusters(groups):
    above = {"llm-a": (0.010, 0.020), "llm-b": (0.030, 0.050), "credit": (0.001, 0.002)}
    runs = [row(name, seed, "group", 0.5) for name in above for seed in (100, 101)]
    stored = [
        row(name, 100 + k, "lgb", 0.5 + gap)
        for name, both in above.items()
        for k, gap in enumerate(both)
    ]
    stored.append(row("llm-a", 100, "unknown", 9.0))
    runs, stored = pd.DataFrame(runs), pd.DataFrame(stored)
    means = np.array([15.0, 40.0, 1.5])
    error = means.std(ddof=1) / np.sqrt(3)
    lines = groups.gaps(runs, stored, "ll", clustered=False)
    assert lines[0] == "| n | LightGBM from the one map |"
    assert lines[2] == f"| 300 | {means.mean():.1f} ± {error:.1f} |"
    clustered = np.array([27.5, 1.5])
    error = clustered.std(ddof=1) / np.sqrt(2)
    lines = groups.gaps(runs, stored, "ll", clustered=True)
    assert lines[2] == f"| 300 | {clustered.mean():.1f} ± {error:.1f} |"
    own = pd.concat([runs, stored[stored.method == "lgb"].assign(ll=0.6)])
    assert "| 100.0 ± 0.0 |" in groups.gaps(own, stored, "ll", clustered=False)[2]


def test_harm_is_counted_against_one_map(groups, capsys):
    runs = []
    for seed, loss in enumerate((0.49, 0.5005, 0.5023, 0.4)):
        runs += [row("credit", seed, "one", 0.5), row("credit", seed, "group", loss)]
    said = groups.harm(pd.DataFrame(runs))[0]
    assert "by more than 0.001 in 25.0% of 4 runs, and at most by 0.0023" in said


def test_the_adapter_gives_mcgrad_scores_labels_and_both_kinds_of_features(groups, monkeypatch):
    seen = {}

    class MCGrad:
        def fit(self, frame, score, label, **names):
            seen.update(names, fitted=frame, columns=(score, label))

        def predict(self, frame, score, **names):
            assert names == {k: v for k, v in seen.items() if k.endswith("names")}
            return frame[score].to_numpy() / 2

    package = types.ModuleType("mcgrad")
    package.methods = types.ModuleType("mcgrad.methods")
    package.methods.MCGrad = MCGrad
    monkeypatch.setitem(sys.modules, "mcgrad", package)
    monkeypatch.setitem(sys.modules, "mcgrad.methods", package.methods)
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS / "rivals"), *sys.path])
    features = pd.DataFrame({"town": ["a", "b"], "age": [1.0, 2.0]}, index=[7, 9])
    predict = groups._program("mcgrad")(np.array([0.2, 0.4]), np.array([0, 1]), features)
    assert seen["categorical_feature_column_names"] == ["town"]
    assert seen["numerical_feature_column_names"] == ["age"]
    assert seen["fitted"][list(seen["columns"])].to_numpy().tolist() == [[0.2, 0], [0.4, 1]]
    np.testing.assert_allclose(predict(np.array([0.6, 0.8]), features), [0.3, 0.4])
