"""torchmetrics, on arrays that are handed over without a copy."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    def error(norm):
        def measure(y, p):
            tensors = torch.from_numpy(p), torch.from_numpy(y)
            return float(binary_calibration_error(*tensors, n_bins=10, norm=norm))

        return measure

    return Adapter(measure={"ece": error("l1"), "mce": error("max")})
