"""Checks that any calibrator can be held to."""
