"""Tensors from numbers, data and other tensors: factories, constructors, conversions."""
