"""Shared parts of the calibrators. Every other module of this package is a method."""
