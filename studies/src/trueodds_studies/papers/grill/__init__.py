"""Charcoal Grill Scaling (Benton)."""

from trueodds_studies.papers.grill.paper_grill import PaperGrill

__all__ = ["PaperGrill"]
