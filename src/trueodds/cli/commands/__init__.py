"""The commands: one module each, named after the command."""
