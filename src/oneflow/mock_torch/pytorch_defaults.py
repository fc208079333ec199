"""PyTorch's behaviour where OneFlow's differs under the same name, for ``import torch``.

`docs/differences.md` lists the defaults; these classes have PyTorch's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

from oneflow import nn, optim, randint_like as _randint_like
from oneflow.base.dtype import DType
from oneflow.optim import lr_scheduler
from oneflow.optim.lr_scheduler.scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor


def _with_defaults(**defaults: Any) -> Any:
    """Class decorator that gives arguments of the inherited `__init__` other defaults."""

    def decorate(kind: Any) -> Any:
        original = kind.__init__
        signature = inspect.signature(original)

        @functools.wraps(original)
        def make(self: Any, *args: Any, **kwargs: Any) -> None:
            given = signature.bind_partial(self, *args, **kwargs).arguments
            missing = {name: each for name, each in defaults.items() if name not in given}
            original(self, *args, **kwargs, **missing)

        kind.__init__ = make
        return kind

    return decorate


@_with_defaults(weight_decay=1e-2)
class AdamW(optim.AdamW):
    """`oneflow.optim.AdamW` with PyTorch's default of `weight_decay`."""


@_with_defaults(lr=1e-2)
class RMSprop(optim.RMSprop):
    """`oneflow.optim.RMSprop` with PyTorch's default of `lr`, and `eps` added to the root."""

    _eps_in_root = False


@_with_defaults(lr=1e-2)
class Adagrad(optim.Adagrad):
    """`oneflow.optim.Adagrad` with PyTorch's default of `lr`."""


@_with_defaults(lr=1.0)
class LBFGS(optim.LBFGS):
    """`oneflow.optim.LBFGS` with PyTorch's default of `lr`."""


@_with_defaults(eps=None)
class RMSNorm(nn.RMSNorm):
    """`oneflow.nn.RMSNorm` with PyTorch's default of `eps`."""


class SequentialLR(lr_scheduler.SequentialLR):
    """`SequentialLR` whose schedules count from their milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, schedulers, milestones, True, last_epoch)


class PolynomialLR(lr_scheduler.PolynomialLR):
    """`PolynomialLR` that ends at 0, with PyTorch's arguments."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, power=power, last_step=last_epoch, total_iters=total_iters)


@functools.wraps(_randint_like)
def randint_like(input: Tensor, *args: Any, dtype: DType | None = None, **kwargs: Any) -> Tensor:
    """`oneflow.randint_like` of the dtype of `input`."""
    return _randint_like(input, *args, dtype=dtype or input.dtype, **kwargs)


# Names that differ, by the module of PyTorch that has them.
NAMES: dict[str, dict[str, Any]] = {
    "torch": {"randint_like": randint_like},
    "torch.nn": {"RMSNorm": RMSNorm},
    "torch.optim": {each.__name__: each for each in (AdamW, RMSprop, Adagrad, LBFGS)},
    "torch.optim.lr_scheduler": {each.__name__: each for each in (SequentialLR, PolynomialLR)},
}
