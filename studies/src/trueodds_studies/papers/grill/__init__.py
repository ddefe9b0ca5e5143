"""Charcoal Grill Scaling (Benton)."""
