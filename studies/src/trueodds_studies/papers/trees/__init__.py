"""Probability calibration trees (Leathart, Frank, Holmes and Pfahringer 2017)."""
