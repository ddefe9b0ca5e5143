"""Compiled loops: Python with C types as annotations, which Cython translates during the build.

Nothing is imported here, so that a method loads only the kernels that it needs. They work on
contiguous arrays. Without its compiled module, a source file runs as Python, about a hundred times
slower, so that a debugger can step through it. ``setup.py`` compiles them, and
``docs/architecture.md`` explains how to write one.
"""

__all__: list[str] = []
