"""Helpers of every layer: files, optional libraries, progress, wording of numbers."""
