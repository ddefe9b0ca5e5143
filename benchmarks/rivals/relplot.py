"""relplot, by the authors of the smooth calibration error."""

from __future__ import annotations

from rivals import Adapter


def adapter() -> Adapter:
    import relplot

    return Adapter(measure={"smooth ece": lambda y, p: relplot.smECE(p, y)})
