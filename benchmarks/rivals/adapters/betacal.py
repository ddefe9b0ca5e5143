"""betacal, by the authors of beta calibration. It switches off all warnings of the process."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    from betacal import BetaCalibration

    def beta(p, y):
        return BetaCalibration("abm").fit(p.reshape(-1, 1), y).predict

    return Adapter(fit={"beta": beta})
