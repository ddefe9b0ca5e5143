"""Bayesian softmax regression on structured features of class probabilities."""
