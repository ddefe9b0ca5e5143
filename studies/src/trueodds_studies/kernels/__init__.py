"""Compiled loops of the studies, written and compiled as those of ``trueodds.kernels``."""

__all__: list[str] = []
