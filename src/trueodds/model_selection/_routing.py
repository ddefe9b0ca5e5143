"""Which parameters of ``fit`` go to the model, and which to the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import (
    MetadataRequest,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from trueodds.exceptions import TrueoddsWarning, warn_user
from trueodds.inputs import Floats

__all__ = ["share_parameters"]


def share_parameters(
    owner: Any, weight: Floats | None, fit_params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters for the ``fit`` of the owner's model, and for ``split`` of its folds.

    With scikit-learn's metadata routing as requested. Without it ``groups`` are the splitter's,
    weights the model's if it takes them, and the model is given all the rest.
    """
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, "fit", sample_weight=weight, **fit_params)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    for_model = dict(fit_params)
    for_splitter = {"groups": for_model.pop("groups")} if "groups" in for_model else {}
    if weight is not None and _wants_weights(owner.estimator):
        for_model["sample_weight"] = weight
    return for_model, for_splitter


def _wants_weights(model: Any) -> bool:
    """Whether ``fit`` takes sample weights and the user has not asked to keep them from it."""
    if isinstance(model, FrozenEstimator):
        return False
    if not has_fit_parameter(model, "sample_weight"):
        warn_user(
            f"{type(model).__name__}.fit takes no sample_weight; weights are used for "
            "calibration only.",
            TrueoddsWarning,
        )
        return False
    routing = get_routing_for_object(model)
    if not isinstance(routing, MetadataRequest):
        return True
    return routing.fit.requests.get("sample_weight") is not False
