"""Fourier transforms, of whole signals and of short stretches of them, and windows."""
