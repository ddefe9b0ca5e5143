"""ENIR (Naeini and Cooper 2016)."""

from trueodds_studies.papers.enir.authors import AuthorsENIR

__all__ = ["AuthorsENIR"]
