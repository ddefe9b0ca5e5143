"""The studies, one module each: a name without underscore in front that defines ``STUDY``."""

__all__: list[str] = []
