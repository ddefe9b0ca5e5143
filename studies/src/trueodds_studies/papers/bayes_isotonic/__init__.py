"""Bayesian isotonic calibration (Allikivi and Kull 2019)."""
