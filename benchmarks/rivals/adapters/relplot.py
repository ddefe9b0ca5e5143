"""relplot, by the authors of the smooth calibration error."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    import relplot

    return Adapter(
        measure={
            "smooth ece": lambda y, p: relplot.smECE(p, y),
            "smooth curve with band": lambda y, p: relplot.prepare_rel_diagram(p, y) and None,
        }
    )
