"""``torch._dynamo``: marks for a compiler of Python code, which does not exist here."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.pytorch.compiler import (
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_compiling as is_compiling,
    reset as reset,
)


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Mark nothing: programs are recorded for every shape."""


def mark_static(t: Any, index: Any = None) -> None:
    """Mark nothing: programs are recorded for every shape."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Mark nothing: the memory of tensors is XLA's."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Mark nothing: programs are recorded for every shape."""
