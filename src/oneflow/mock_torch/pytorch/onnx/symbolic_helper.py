"""Names of ``torch.onnx.symbolic_helper``, for functions that TorchScript's exporter would call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def parse_args(*arg_descriptors: str) -> Callable[[Decorated], Decorated]:
    """Return a decorator that leaves a function as it is: nothing calls it."""
    return lambda function: function


__all__ = ["parse_args"]
