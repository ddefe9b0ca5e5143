"""Files: finding, opening as relations, and writing them."""
