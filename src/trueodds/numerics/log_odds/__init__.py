"""The log-odds axis, and the fits of one curve on it."""

from trueodds.numerics.log_odds.axis import log_odds, log_pair, log_sigmoid, sigmoid

__all__ = ["log_odds", "log_pair", "log_sigmoid", "sigmoid"]
