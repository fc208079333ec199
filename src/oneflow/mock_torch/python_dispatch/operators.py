"""Calls of operators by name, for what is composed of them."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.python_dispatch.calls import call_by_name, call_operator
from oneflow.mock_torch.pytorch.aten import aten_operator


def operator(name: str, *args: Any, overload: str | None = None, **kwargs: Any) -> Any:
    """Call an operator of ATen.

    Args:
        name: its name.
        args: its arguments, as PyTorch's operator has them.
        overload: the overload; by default the first that takes the arguments.
        kwargs: its arguments by name.
    """
    packet = aten_operator(name)
    if overload is None:
        return call_by_name(packet, args, kwargs)
    return call_operator(packet.overload(overload), args, kwargs)
