"""Tensors to and from PyTorch."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.creation.torch_tensors import from_torch as from_torch, to_torch as to_torch

__all__ = ["from_torch", "to_torch"]
