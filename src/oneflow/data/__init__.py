"""Data: data sets, samplers, and the loader that makes batches of them."""
