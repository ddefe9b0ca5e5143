"""Probability calibration trees (Leathart, Frank, Holmes and Pfahringer 2017)."""

from trueodds_studies.papers.trees.paper_tree import AuthorsTree, PaperTree

__all__ = ["AuthorsTree", "PaperTree"]
