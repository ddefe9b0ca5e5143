"""Small random samples with ties on bin edges, exact 0 and 1, and weights of zero."""

from __future__ import annotations

from hypothesis import strategies as st

probability = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 0.1, 0.2, 0.3, 0.7, 0.6, 1 / 3, 2 / 3, 1 / 49, 0.05]),
    st.floats(0.0, 1.0, allow_subnormal=False),
)
whole_weight = st.integers(0, 3)
real_weight = st.one_of(st.just(0.0), st.floats(0.1, 5.0))


@st.composite
def binary(
    draw: st.DrawFn,
    weight: st.SearchStrategy[float] = real_weight,
    prob: st.SearchStrategy[float] = probability,
    max_size: int = 25,
) -> tuple[list[float], list[int], list[float], bool]:
    """Probabilities, labels, weights (with a positive sum), and whether to pass the weights."""
    rows = draw(st.lists(st.tuples(prob, st.integers(0, 1), weight), min_size=1, max_size=max_size))
    p, y, w = (list(column) for column in zip(*rows, strict=True))
    weighted = draw(st.booleans()) and sum(w) > 0
    return p, y, [float(v) for v in w] if weighted else [1.0] * len(p), weighted


@st.composite
def several(
    draw: st.DrawFn, weight: st.SearchStrategy[float] = real_weight, n_classes: int = 3
) -> tuple[list[list[float]], list[int], list[float], bool]:
    """The same with rows of class probabilities; some are ties between classes."""
    row = st.lists(st.integers(0, 6), min_size=n_classes, max_size=n_classes).filter(any)
    rows = draw(
        st.lists(st.tuples(row, st.integers(0, n_classes - 1), weight), min_size=1, max_size=15)
    )
    p, y, w = (list(column) for column in zip(*rows, strict=True))
    p = [[v / sum(r) for v in r] for r in p]
    weighted = draw(st.booleans()) and sum(w) > 0
    return p, y, [float(v) for v in w] if weighted else [1.0] * len(p), weighted
