"""Compiled loops: Python with C types as annotations, which Cython translates when it is built.

Nothing is imported here, so that a method loads the kernels it needs and no other. They work on
contiguous arrays. Where no compiled module lies beside a source file, the source itself runs, some
hundred times slower, with the package ``cython`` standing in for its types: so a debugger can step
through it. ``setup.py`` says how they are compiled, ``docs/architecture.md`` how to write one.
"""

__all__: list[str] = []
