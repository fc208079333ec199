"""Libraries that were written for PyTorch, run on it and on this package in its place."""
