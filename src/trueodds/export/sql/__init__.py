"""Formulas as SQL, for six engines and as a macro for dbt."""
