"""Exact forms and solvers that know nothing of calibrators or maps."""
