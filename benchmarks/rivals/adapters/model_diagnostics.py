"""model-diagnostics."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    from model_diagnostics.calibration import compute_bias
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    def miscalibration(y, p):
        parts = decompose(y_obs=y, y_pred=p, scoring_function=LogLoss())
        return parts["miscalibration"].to_list()[0]

    return Adapter(
        measure={
            "brier score": lambda y, p: SquaredError()(y, p),
            "log-loss": lambda y, p: LogLoss()(y, p),
            "corp decomposition": miscalibration,
            "reliability curve": lambda y, p: (
                compute_bias(y_obs=y, y_pred=p, feature=p) is None or None
            ),
        }
    )
