"""A smooth curve on the log-odds axis, learned by averaging Bayesian logistic models."""
