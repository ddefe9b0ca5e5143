"""A folder for each paper: its ``study``, what it prints, its claims, and the report on them."""
