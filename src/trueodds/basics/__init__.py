"""Small things that every layer may need: writing files, optional libraries, progress."""
