"""venn-abers. Two isotonic fits at once: its one number is compared with isotonic calibration."""

from __future__ import annotations

from adapters import Adapter, both


def adapter() -> Adapter:
    from venn_abers import VennAbers

    def isotonic(p, y):
        fitted = VennAbers()
        fitted.fit(both(p), y)
        return lambda new: fitted.predict_proba(both(new))[0][:, 1]

    return Adapter(fit={"isotonic": isotonic})
