"""The temperature field of Charcoal Grill Scaling, and how coals are found."""
