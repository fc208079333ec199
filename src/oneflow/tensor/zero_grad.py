"""Setting gradients to zero, or to None, before the next backward pass."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.primitives.operators.creation import zeros
from oneflow.tensor.tensor import ZERO_GRAD, Tensor
from oneflow.tensor.views import unwrap, write


def zero_grads(tensors: Iterable[Tensor], set_to_none: bool | None) -> None:
    """Set the gradients of leaves to zero, or to None: what PyTorch does unless it is told."""
    to_none = program_name() == PYTORCH if set_to_none is None else set_to_none
    for tensor in tensors:
        _zero_grad(tensor, to_none)


def _zero_grad(tensor: Tensor, set_to_none: bool) -> None:
    """Set the gradient of a leaf to zero, or to None; without a gradient nothing happens.

    Zeros are made only if somebody looks at them before the next backward pass replaces them.
    """
    grad = tensor._grad
    if set_to_none:
        tensor._grad = None
    elif grad is None or grad is ZERO_GRAD:
        return
    elif grad._family is None and sys.getrefcount(grad) <= _GRAD_REFERENCES:
        tensor._grad = ZERO_GRAD
    else:
        if unwrap(grad).node is not None:
            grad.detach_()
        spec = grad._value.spec
        write(grad, zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device))


def _references_to_grad(owner: Any) -> int:
    """The reference count of a gradient that only its tensor holds, as in `_zero_grad`."""
    grad = owner._grad
    return sys.getrefcount(grad)


class _Owner:
    """Holds the only reference to an object, as a tensor does to its gradient."""

    def __init__(self) -> None:
        self._grad = object()


# Depends on the Python version: newer ones track references to local variables without counting
# them.
_GRAD_REFERENCES = _references_to_grad(_Owner())
