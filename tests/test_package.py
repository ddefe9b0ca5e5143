"""Importing is light, layers hold, and what is public is reachable."""

import importlib
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest

import trueodds

HEAVY = (
    "matplotlib", "pandas", "polars", "pyarrow", "torch", "duckdb", "onnx", "onnxruntime",
    "skl2onnx", "onnxmltools", "lightgbm", "xgboost", "catboost", "mlflow", "skops", "pyspark",
)  # fmt: skip
PARAMETERS = "calibrator__parameters"


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_importing_the_package_loads_nothing():
    loaded = modules_after("import trueodds")
    assert not {"numpy", "scipy", "sklearn", *HEAVY} & loaded


def test_isotonic_calibration_loads_nothing_heavy():
    assert not {"sklearn", *HEAVY} & modules_after("from trueodds import IsotonicCalibrator")


@pytest.mark.parametrize("name", ["BetaCalibrator", "MatrixCalibrator", "ScoreTable", "load"])
def test_parametric_methods_and_maps_need_numpy_alone(name):
    loaded = modules_after(f"from trueodds import {name}")
    assert not {"scipy", "sklearn", *HEAVY} & loaded


def test_fitting_a_parametric_method_needs_numpy_alone():
    loaded = modules_after(
        "from trueodds import BetaCalibrator\n"
        "BetaCalibrator().fit([0.1, 0.4, 0.3, 0.8], [0, 1, 0, 1]).predict_proba([0.2])"
    )
    assert not {"scipy", "sklearn", *HEAVY} & loaded


@pytest.mark.slow
def test_a_calibrated_classifier_loads_no_library_that_it_was_not_given():
    loaded = modules_after(
        "from sklearn.naive_bayes import GaussianNB\n"
        "from trueodds import CalibratedClassifier\n"
        "model = CalibratedClassifier(GaussianNB(), cv=2)\n"
        "model.fit([[0.0], [1.0], [0.4], [0.6]], [0, 1, 0, 1])"
    )
    assert not (set(HEAVY) - {"pandas", "pyarrow"}) & loaded  # scikit-learn itself loads these


def test_no_calibrator_loads_scikit_learn():
    loaded = modules_after("from trueodds import all_calibrators\nall_calibrators()")
    assert not {"sklearn", "pandas", "matplotlib"} & loaded


def test_layers_are_kept():
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_public_names_are_listed_and_reachable():
    names = dir(trueodds)
    for name in ("BetaCalibrator", "CalibratedClassifier", "ScoreTable", "load", "maps", "testing"):
        assert name in names
        assert getattr(trueodds, name) is not None


def test_type_stubs_are_up_to_date():
    """But for calibrators, which are among what a contribution needs (tests/docs)."""
    from write_stubs import stubs

    written_by_tool = stubs()
    assert {path.parent.name for path in written_by_tool} >= {"trueodds", "calibrators"}
    for path, text in written_by_tool.items():
        written = path.read_text(encoding="utf-8").splitlines()
        assert [x for x in written if not x.endswith("Calibrator")] == [
            x for x in text.splitlines() if not x.endswith("Calibrator")
        ]


def test_the_package_works_from_a_zip_file(tmp_path):
    """Kernels then run as Python: compiled modules cannot be loaded from a zip file."""
    source = Path(trueodds.__file__).parents[1]
    with zipfile.ZipFile(tmp_path / "trueodds.zip", "w") as archive:
        for file in source.glob("trueodds/**/*.py"):
            archive.write(file, file.relative_to(source))
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'trueodds.zip')!r})\n"
        "import trueodds\n"
        "assert '.zip' in trueodds.__file__\n"
        "assert 'BetaCalibrator' in dir(trueodds)\n"
        "fitted = trueodds.BetaCalibrator().fit([0.1, 0.4, 0.3, 0.8], [0, 1, 0, 1])\n"
        "print(fitted.map_.to_python()[:13], trueodds.all_calibrators()['tree'].__name__)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.split() == ["import", "bisect", "TreeCalibrator"], result.stderr


@pytest.mark.parametrize("package", ["engines", "export", "model_selection", "report"])
def test_every_lazy_name_is_found(package):
    module = importlib.import_module(f"trueodds.{package}")
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_unknown_names_are_attribute_errors():
    for name in ("Nonsense", "NonsenseCalibrator"):
        with pytest.raises(AttributeError, match=name):
            getattr(trueodds, name)


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("trueodds") == trueodds.__version__


def test_calibrators_are_estimators_to_scikit_learn():
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import SkipTestWarning
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.naive_bayes import GaussianNB
    from sklearn.utils.estimator_checks import check_estimator

    from trueodds import BetaCalibrator, CalibratedClassifier, OneVsRestCalibrator

    assert is_classifier(BetaCalibrator())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        check_estimator(BetaCalibrator())
    nested = clone(OneVsRestCalibrator(BetaCalibrator("am")))
    assert repr(nested) == "OneVsRestCalibrator(calibrator=BetaCalibrator(parameters='am'))"
    assert nested.get_params()["calibrator__parameters"] == "am"
    with pytest.raises(ValueError, match=r"Invalid parameter 'gamma'"):
        BetaCalibrator().set_params(gamma=1)
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=2)
    X = [[float(k % 7), float(k % 5)] for k in range(60)]
    y = [k % 3 == 0 for k in range(60)]
    search = GridSearchCV(model, {PARAMETERS: ["abm", "am"]}, cv=2, scoring="neg_log_loss")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
        by_hand = [
            cross_val_score(
                CalibratedClassifier(GaussianNB(), BetaCalibrator(name), cv=2),
                *(X, y),
                cv=2,
                scoring="neg_log_loss",
            ).mean()
            for name in ("abm", "am")
        ]
    assert by_hand[0] != by_hand[1]
    assert search.cv_results_["mean_test_score"].tolist() == by_hand
    assert search.best_params_[PARAMETERS] == ("abm", "am")[by_hand.index(max(by_hand))]
    assert "BetaCalibrator" in model._repr_html_()
