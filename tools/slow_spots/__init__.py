"""Finds the operators that are slower than PyTorch's at the shapes that models have."""
