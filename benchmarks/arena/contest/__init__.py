"""The arena: what is calibrated, by which methods, what came out, and who is ahead.

The protocol is that of CalArena (arXiv 2605.30188), whose calibrators all come from probmetrics.
"""
