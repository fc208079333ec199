"""Compares our programs with hand-written JAX as XLA compiles both for accelerators."""
