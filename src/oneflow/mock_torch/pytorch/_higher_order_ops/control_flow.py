"""Control flow as functions: here Python's own, since values can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """Call one of two functions.

    Args:
        pred: says whether the first; a tensor with one element, or a number.
        true_fn: the first one.
        false_fn: the second one.
        operands: what they are given.

    Raises:
        RuntimeError: `pred` has more than one element, or depends on the arguments of a graph.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     x = torch.tensor(3.0)
        ...     torch.cond(x > 0, torch.square, torch.neg, (x,)).item()
        9.0
    """
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """Call a function on what it gave, as long as another says so.

    Args:
        cond_fn: says whether to go on; called with the values so far.
        body_fn: gives the next values.
        carried_inputs: the first values.
    """
    values = tuple(carried_inputs)
    while bool(cond_fn(*values)):
        result = body_fn(*values)
        values = tuple(result) if isinstance(result, tuple | list) else (result,)
    return values


__all__ = ["cond", "while_loop"]
