"""``torch.distributed.rpc``: calls of functions on other processes do not exist here."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import Missing, raise_missing

_REASON = (
    "functions are not called on other processes; `torch.distributed` sends tensors and objects"
)


def is_available() -> bool:
    """Return False."""
    return False


class RRef(Missing):
    """The type of references to values of other processes."""

    _reason = _REASON


class RemoteModule(Missing):
    """The type of modules that other processes run."""

    _reason = _REASON


def init_rpc(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to begin.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.distributed.rpc", _REASON)


__all__ = ["RRef", "RemoteModule", "init_rpc", "is_available"]
