"""Logits of several classes, and the fits of affine maps of them."""
