"""``as_functional_optim``: optimizers that update a parameter with a gradient they are given."""

from __future__ import annotations

from typing import Any

from oneflow import optim as plain
from oneflow.mock_torch.pytorch import optim as in_place
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor

_NAMES = ("Adagrad", "Adam", "AdamW", "SGD", "Adadelta", "RMSprop", "Rprop", "Adamax")
_FUNCTIONAL = {getattr(in_place, name, getattr(plain, name)) for name in _NAMES}


class FunctionalOptimizer:
    """An optimizer whose parameters are those for which it is called.

    Args:
        kind: the class of optimizers.
        args: arguments of it, behind the parameters.
        kwargs: those by name.
    """

    def __init__(
        self, kind: type[Optimizer], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._kind, self._args, self._kwargs = kind, args, kwargs
        self._optimizers: dict[Tensor, Optimizer] = {}

    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """Update a parameter, whose `grad` stays what it is.

        Args:
            param: the parameter.
            grad: the gradient; None leaves it as it is.
        """
        optimizer = self._optimizers.get(param)
        if optimizer is None:
            optimizer = self._kind([param], *self._args, **self._kwargs)
            self._optimizers[param] = optimizer
        before, param.grad = param.grad, grad
        try:
            optimizer.step()
        finally:
            param.grad = before


def as_functional_optim(
    optim_cls: type[Optimizer], *args: Any, **kwargs: Any
) -> FunctionalOptimizer:
    """Return an optimizer that is given gradients, as hooks of communication have them.

    Args:
        optim_cls: a class of optimizers.
        args: its arguments behind the parameters.
        kwargs: those by name.

    Raises:
        ValueError: there is none of the class.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.optim import as_functional_optim
        >>> x = torch.ones(1, requires_grad=True)
        >>> as_functional_optim(torch.optim.SGD, lr=0.5).step_param(x, torch.ones(1))
        >>> x.item()
        0.5
    """
    if optim_cls not in _FUNCTIONAL:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!")
    return FunctionalOptimizer(optim_cls, args, kwargs)
