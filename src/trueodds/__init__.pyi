# Written by tools/write_stubs.py (make stubs); do not edit.
from trueodds.calibrators import all_calibrators as all_calibrators
from trueodds.calibrators._abb import ABBCalibrator as ABBCalibrator
from trueodds.calibrators._acp import ACPCalibrator as ACPCalibrator
from trueodds.calibrators._acp import logistic_intervals as logistic_intervals
from trueodds.calibrators._bayesian_isotonic import BayesianIsotonicCalibrator as BayesianIsotonicCalibrator
from trueodds.calibrators._bbq import BBQCalibrator as BBQCalibrator
from trueodds.calibrators._beta import BetaCalibrator as BetaCalibrator
from trueodds.calibrators._charcoal_grill import CharcoalGrillCalibrator as CharcoalGrillCalibrator
from trueodds.calibrators._enir import ENIRCalibrator as ENIRCalibrator
from trueodds.calibrators._histogram import HistogramCalibrator as HistogramCalibrator
from trueodds.calibrators._identity import IdentityCalibrator as IdentityCalibrator
from trueodds.calibrators._isotonic import IsotonicCalibrator as IsotonicCalibrator
from trueodds.calibrators._logistic import LogisticCalibrator as LogisticCalibrator
from trueodds.calibrators._matrix import MatrixCalibrator as MatrixCalibrator
from trueodds.calibrators._near_isotonic import near_isotonic_path as near_isotonic_path
from trueodds.calibrators._one_vs_rest import OneVsRestCalibrator as OneVsRestCalibrator
from trueodds.calibrators._temperature import TemperatureCalibrator as TemperatureCalibrator
from trueodds.calibrators._tree import TreeCalibrator as TreeCalibrator
from trueodds.calibrators._vector import VectorCalibrator as VectorCalibrator
from trueodds.maps import load as load
from trueodds.maps._base import CalibrationMap as CalibrationMap
from trueodds.model_selection._calibrated_classifier import CalibratedClassifier as CalibratedClassifier
from trueodds.table import ScoreTable as ScoreTable
from trueodds import calibrators as calibrators
from trueodds import decisions as decisions
from trueodds import exceptions as exceptions
from trueodds import maps as maps
from trueodds import metrics as metrics
from trueodds import model_selection as model_selection
from trueodds import plots as plots
from trueodds import table as table
from trueodds import testing as testing

__version__: str
