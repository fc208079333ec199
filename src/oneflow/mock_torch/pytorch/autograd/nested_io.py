"""`NestedIOFunction`: a class of PyTorch's that only old programs name."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.autograd.function import Function


class NestedIOFunction(Function):
    """Functions of nested tuples, whose `forward` was a method of objects once.

    PyTorch calls no such function any more either; ``torch.autograd.Function`` with static methods
    takes its place.
    """

    def __call__(self, *args: Any) -> NoReturn:
        """Refuse to call the function.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "`NestedIOFunction`: functions whose `forward` is no static method are not called; "
            "define a `torch.autograd.Function` with static `forward` and `backward`"
        )
