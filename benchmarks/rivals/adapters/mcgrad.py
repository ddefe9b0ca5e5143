"""MCGrad, multicalibration by gradient boosting, with its defaults."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    from mcgrad.methods import MCGrad

    def multicalibration(p, y, features):
        names = {
            "categorical_feature_column_names": _names(features, exclude="number"),
            "numerical_feature_column_names": _names(features, include="number"),
        }
        model = MCGrad()
        model.fit(_frame(features, p, label=y), "score", "label", **names)
        return lambda new, frame: model.predict(_frame(frame, new), "score", **names)

    return Adapter(fit_groups={"mcgrad": multicalibration})


def _names(features, **kind):
    return features.select_dtypes(**kind).columns.tolist()


def _frame(features, p, **more):
    return features.assign(score=p, **more).reset_index(drop=True)
