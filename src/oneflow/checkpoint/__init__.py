"""Saving and loading: safe files with tensors and plain Python data."""
