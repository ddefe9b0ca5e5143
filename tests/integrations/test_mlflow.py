"""Models travel through skops and MLflow and come back equal, in a fresh process too."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from trueodds import AutoCalibrator, BetaCalibrator, CalibratedClassifier, all_calibrators
from trueodds.mlflow import log_model, log_report, trusted_types

pytestmark = [
    pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ResourceWarning"),
]


@pytest.mark.slow
def test_every_calibrator_consists_of_trusted_types():
    import skops.io

    for n_classes in (2, 3):
        X, y = make_classification(
            200, 6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=0
        )
        for kind in (*all_calibrators().values(), AutoCalibrator):
            model = CalibratedClassifier(GaussianNB(), kind(), cv=2, ensemble=False).fit(X, y)
            saved = skops.io.dumps(model)
            foreign = set(skops.io.get_untrusted_types(data=saved)) - set(trusted_types())
            assert not foreign, kind
            again = skops.io.loads(saved, trusted=list(trusted_types()))
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "base",
    [
        RandomForestClassifier(5, random_state=0),
        ExtraTreesClassifier(5, random_state=0),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        DecisionTreeClassifier(max_depth=3),
        AdaBoostClassifier(n_estimators=3),
        BaggingClassifier(n_estimators=3),
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsClassifier(algorithm="ball_tree"),
        MLPClassifier(max_iter=5),
        MLPClassifier(max_iter=5, solver="sgd"),
        StackingClassifier([("nb", GaussianNB())], cv=2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda base: type(base).__name__,
)
def test_models_of_scikit_learn_are_read_with_the_trusted_types(base):
    import skops.io

    X, y = make_classification(120, 4, random_state=0)
    model = CalibratedClassifier(base, BetaCalibrator(), cv=2, ensemble=False).fit(X, y)
    again = skops.io.loads(skops.io.dumps(model), trusted=list(trusted_types()))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
def test_a_logged_model_is_equal_in_a_fresh_process(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    X, y = make_classification(300, 4, random_state=0)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    model = CalibratedClassifier(forest, BetaCalibrator(), cv=2).fit(X, y)
    mlflow.set_tracking_uri(tmp_path.joinpath("runs").as_uri())
    with mlflow.start_run() as run:
        info = log_model(model, X, pip_requirements=["trueodds"])
        log_report(model.predict_proba(X[:100])[:, 1], y[:100], cv=2, calibrators=["beta"])
    assert info.signature.outputs is not None
    files = [f.path for f in mlflow.MlflowClient().list_artifacts(run.info.run_id)]
    assert "calibration.html" in files
    np.save(tmp_path / "X.npy", X)
    script = (
        "import sys, numpy as np, mlflow\n"
        "mlflow.set_tracking_uri(sys.argv[1])\n"
        "X = np.load(sys.argv[3])\n"
        "served = mlflow.pyfunc.load_model(sys.argv[2]).predict(X)\n"
        "own = mlflow.sklearn.load_model(sys.argv[2]).predict_proba(X)\n"
        "assert (served == own).all()\n"
        "np.save(sys.argv[4], own)\n"
    )
    paths = [str(tmp_path / "X.npy"), str(tmp_path / "p.npy")]
    uri = tmp_path.joinpath("runs").as_uri()
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, uri, info.model_uri, *paths], check=True
    )
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), model.predict_proba(X))
