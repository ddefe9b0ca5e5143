"""Formulas and calibrated models as ONNX graphs."""
