"""Functions for tests of programs: comparing tensors, and tensors of random numbers."""
