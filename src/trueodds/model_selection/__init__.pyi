# Written by tools/write_stubs.py (make stubs); do not edit.
from trueodds.model_selection._auto import AutoCalibrator as AutoCalibrator
from trueodds.model_selection._calibrated_classifier import CalibratedClassifier as CalibratedClassifier
from trueodds.model_selection._comparison import CalibratorComparison as CalibratorComparison
from trueodds.model_selection._comparison import compare_calibrators as compare_calibrators
from trueodds.model_selection._fit_metadata import fit_metadata as fit_metadata
from trueodds.model_selection._fit_metadata import rows_metadata as rows_metadata
from trueodds.model_selection._update import ModelUpdate as ModelUpdate
from trueodds.model_selection._update import UpdateStep as UpdateStep
from trueodds.model_selection._update import update_model as update_model
from trueodds.model_selection._validate_model import ModelValidation as ModelValidation
from trueodds.model_selection._validate_model import validate_model as validate_model

__all__: list[str]
