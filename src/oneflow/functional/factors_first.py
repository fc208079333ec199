"""Calls of old programs for PyTorch, which give factors before the tensors that they belong to.

``x.add_(-0.1, grad)`` is ``x.add_(grad, alpha=-0.1)``.
"""

from __future__ import annotations

from typing import Any

from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.tensor.tensor import Tensor

# The number of tensors that a function takes, and the names of its factors in their old order.
_FACTORS = {
    "add": (2, ("alpha",)),
    "sub": (2, ("alpha",)),
    "addcdiv": (3, ("value",)),
    "addcmul": (3, ("value",)),
    "addbmm": (3, ("beta", "alpha")),
    "addmm": (3, ("beta", "alpha")),
    "addmv": (3, ("beta", "alpha")),
    "addr": (3, ("beta", "alpha")),
    "baddbmm": (3, ("beta", "alpha")),
}


def is_factor(value: Any) -> bool:
    """Return True for a number, or a tensor of one whose gradient nobody asks for."""
    if isinstance(value, Tensor):
        return value.ndim == 0 and not value.requires_grad
    return isinstance(value, int | float | complex)


def _number(factor: Any) -> Any:
    return factor.item() if isinstance(factor, Tensor) else factor


def factors_by_name(
    error: Exception, name: str, args: tuple
) -> tuple[list[Tensor], dict[str, Any]] | None:
    """The tensors of a refused call, and its factors by their names; None if it is no old call.

    Args:
        error: what the call raised.
        name: the name of the function.
        args: the arguments by position.
    """
    count, names = _FACTORS.get(name, (0, ()))
    if not isinstance(error, TypeError) or not count < len(args) <= count + len(names):
        return None
    places = [place for place, argument in enumerate(args) if is_factor(argument)]
    if len(names) == 1 and 1 in places:
        places = [1]
    numbers = [_number(args[place]) for place in places]
    tensors = [argument for place, argument in enumerate(args) if place not in places]
    if len(tensors) != count or not all(isinstance(x, Tensor) for x in tensors):
        return None
    factors = dict(zip(names, numbers, strict=False))
    warn_in_place_of_pytorch(
        f"This overload of {name} is deprecated: give "
        f"{', '.join(f'`{factor}=`' for factor in factors)} behind the tensors"
    )
    return tensors, factors
