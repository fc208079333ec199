"""The type of what PyTorch's compiler returns."""

from oneflow import nn


class OptimizedModule(nn.Module):
    """The type of compiled modules, of which there are none: `compile` returns what it is given."""
