"""The same few lines on OneFlow and on PyTorch: what comes out must be the same."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import oneflow as flow


def plain(result: Any) -> Any:
    """A result without tensors: nested lists of numbers, with shapes."""
    if isinstance(result, flow.Tensor | torch.Tensor):
        array = result.detach().numpy()
        return [str(array.dtype), list(array.shape), array.astype("complex128").ravel().tolist()]
    if isinstance(result, tuple | list):
        return [plain(element) for element in result]
    return result


def same(ours: Any, theirs: Any) -> bool:
    """Test if two plain results are equal, numbers up to rounding."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float | complex):
        return cmath.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-6)
    return ours == theirs


def outcome(case: Callable[[ModuleType], Any], library: ModuleType) -> Any:
    """The result of a case, or the type of the exception that it raises."""
    try:
        return plain(case(library))
    except Exception as error:
        return type(error).__name__, str(error)


def agree(case: Callable[[ModuleType], Any], message: str | None = None) -> None:
    """Check that a case does the same with both libraries.

    With `message` both must raise the same type of error, with this text in both messages.
    """
    ours, theirs = outcome(case, flow), outcome(case, torch)
    if message is None:
        assert same(ours, theirs), f"\nours:   {ours}\ntheirs: {theirs}"
        return
    assert ours[0] == theirs[0], (ours, theirs)
    assert message in theirs[1], theirs
    assert message in ours[1], ours
