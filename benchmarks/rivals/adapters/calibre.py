"""calibre. On Python 3.11 the newest that installs is 0.4.0."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    import calibre

    return Adapter(
        measure={
            "ece": lambda y, p: calibre.expected_calibration_error(y, p, n_bins=10),
            "mce": lambda y, p: calibre.maximum_calibration_error(y, p, n_bins=10),
            "brier score": calibre.brier_score,
            "reliability curve": lambda y, p: calibre.calibration_curve(y, p, n_bins=10) and None,
        },
    )
