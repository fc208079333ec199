"""Types and functions of PyTorch that nothing here takes the place of under the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_TRACED = (
    "functions are not traced symbolically; `register_forward_hook` reads and replaces what layers"
    " return, and `nn.Graph` records a whole step"
)
_SHARDED = (
    "tensors are split over devices by `to_global(placement, sbp)`, modules by `Module.to_global`"
)


def raise_missing(name: str, reason: str) -> NoReturn:
    """Raise the error that says what takes the place of a name.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(f"`{name}`: {reason}")


def missing_function(name: str, reason: str) -> Callable[..., NoReturn]:
    """Make the function of a name that nothing can take the place of.

    Args:
        name: its name below ``torch``.
        reason: what is missing, or takes its place.
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise_missing(f"torch.{name}", reason)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Refuse: {reason}."
    return refuse


class Missing:
    """The base of types without objects, which libraries name in annotations and ``isinstance``."""

    _reason: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise_missing(f"torch.{type(self).__name__}", self._reason)


class MissingTracing(Missing):
    """The base of the types of symbolic tracing."""

    _reason = _TRACED


class Sharded(Missing):
    """The base of the types by which PyTorch shards tensors and modules."""

    _reason = _SHARDED


def raise_tracing(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to trace a function symbolically.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.fx", _TRACED)


def raise_sharding(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to shard as PyTorch does.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.distributed.tensor", _SHARDED)
