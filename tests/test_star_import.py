"""What ``from trueodds import *`` brings."""

import trueodds


def test_a_star_brings_calibrators_and_nothing_private():
    names: dict[str, object] = {}
    exec("from trueodds import *", names)  # noqa: S102
    brought = {name for name in names if name != "__builtins__"}
    assert {"BetaCalibrator", "AutoCalibrator", "CalibratedClassifier", "load"} <= brought
    assert not any(name.startswith("_") for name in brought)
    assert trueodds.BetaCalibrator is names["BetaCalibrator"]
