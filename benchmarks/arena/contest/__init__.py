"""The accuracy benchmark: predictions, methods, results and rankings.

The protocol is that of CalArena (arXiv 2605.30188), whose calibrators all come from probmetrics.
"""
