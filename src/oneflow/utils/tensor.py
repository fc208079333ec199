"""Tensors to and from PyTorch."""

from oneflow.functional.creation.torch_tensors import from_torch as from_torch, to_torch as to_torch
