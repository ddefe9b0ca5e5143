"""ENIR (Naeini and Cooper 2016)."""
