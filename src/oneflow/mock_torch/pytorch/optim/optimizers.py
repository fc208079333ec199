"""Optimizers whose defaults and formulas are PyTorch's where OneFlow's differ."""

from oneflow import optim
from oneflow.mock_torch.default_arguments import with_defaults


@with_defaults(weight_decay=1e-2)
class AdamW(optim.AdamW):
    """`oneflow.optim.AdamW` with PyTorch's default of `weight_decay`."""


@with_defaults(lr=1e-2)
class RMSprop(optim.RMSprop):
    """`oneflow.optim.RMSprop` with PyTorch's default of `lr`, and `eps` added to the root."""

    _eps_in_root = False


@with_defaults(lr=1e-2)
class Adagrad(optim.Adagrad):
    """`oneflow.optim.Adagrad` with PyTorch's default of `lr`."""


@with_defaults(lr=1.0)
class LBFGS(optim.LBFGS):
    """`oneflow.optim.LBFGS` with PyTorch's default of `lr`."""


__all__ = ["LBFGS", "Adagrad", "AdamW", "RMSprop"]
