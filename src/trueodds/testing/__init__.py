"""Checks for any calibrator, including those of third parties.

``check_calibrator(MyCalibrator())`` runs them all. To run each as a separate test::

    @pytest.mark.parametrize("check", calibrator_checks(MyCalibrator()), ids=str)
    def test_contract(check):
        check()
"""

from trueodds.testing._suite import CalibratorCheck, calibrator_checks, check_calibrator

__all__ = ["CalibratorCheck", "calibrator_checks", "check_calibrator"]
