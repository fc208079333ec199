"""Tensors of random numbers."""
