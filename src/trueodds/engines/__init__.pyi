# Written by tools/write_stubs.py (make stubs); do not edit.
from trueodds.engines.apply import apply_map as apply_map

__all__: list[str]
