"""Deliveries of rows, as ``trueodds monitor`` reads them."""
