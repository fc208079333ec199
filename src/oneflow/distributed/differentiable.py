"""Collective operations that gradients flow through."""

from __future__ import annotations

from typing import Any

from oneflow.autograd.function import Function
from oneflow.distributed import collective_functions as functions
from oneflow.distributed.device_group import run_on_values
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class _Sum(Function):
    """A sum over processes, whose gradient is the sum of the gradients of all of them."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, ranks: tuple[int, ...]) -> Tensor:
        ctx.ranks = ranks
        return wrap(run_on_values(functions.all_reduce, [unwrap(tensor)], ranks)[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Sum.apply(grads[0], ctx.ranks), None


def sum_over_processes(tensor: Tensor, ranks: tuple[int, ...]) -> Tensor:
    """Return the sum of a tensor of each process; all must call this, and so must their gradients.

    The gradient of `tensor` is the sum of the gradients that the result gets on all processes.
    """
    return _Sum.apply(tensor, ranks)
