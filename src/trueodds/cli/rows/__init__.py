"""From a relation to scores, labels and weights."""
