"""Tensors to and from PyTorch."""

from oneflow.functional.torch_tensors import from_torch as from_torch, to_torch as to_torch
