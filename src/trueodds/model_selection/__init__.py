"""Calibrating models: cross-fitting."""
