"""Checks that any calibrator can be held to, a third party's too.

``check_calibrator(MyCalibrator())`` runs them all. To see each as a test of its own::

    @pytest.mark.parametrize("check", calibrator_checks(MyCalibrator()), ids=str)
    def test_contract(check):
        check()
"""

from trueodds.testing._suite import CalibratorCheck, calibrator_checks, check_calibrator

__all__ = ["CalibratorCheck", "calibrator_checks", "check_calibrator"]
