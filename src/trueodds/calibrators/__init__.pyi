# Written by tools/write_stubs.py (make stubs); do not edit.
from typing import Any

from trueodds.calibrators._abb import ABBCalibrator as ABBCalibrator
from trueodds.calibrators._acp import ACPCalibrator as ACPCalibrator
from trueodds.calibrators._base import Calibrator as Calibrator
from trueodds.calibrators._base import Promises as Promises
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
from trueodds.calibrators._one_vs_rest import OneVsRestCalibrator as OneVsRestCalibrator
from trueodds.calibrators._temperature import TemperatureCalibrator as TemperatureCalibrator
from trueodds.calibrators._tree import TreeCalibrator as TreeCalibrator
from trueodds.calibrators._vector import VectorCalibrator as VectorCalibrator

def all_calibrators() -> dict[str, type[Any]]: ...
