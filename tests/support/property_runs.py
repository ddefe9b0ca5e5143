"""How long properties are looked for counterexamples."""

import os

from hypothesis import settings

many_examples = settings(
    max_examples=500 if "HYPOTHESIS_EXPLORE" in os.environ else 150, deadline=None
)
