"""The in-place forms of functions that write at positions, also where elements share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.functional.index.gather import gather, index_select, take
from oneflow.tensor.call import wrap
from oneflow.tensor.indexing import is_overlapping, memory_of
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.tensor import Tensor


def write_at(
    function: Callable[..., Tensor], input: Tensor, index: Tensor, source: Any, **options: Any
) -> Tensor:
    """Write the result of ``function(input, index, source)`` into `input`: the in-place `put`."""
    result = function(before_write(input), index, source, **options)
    if not is_overlapping(input):
        return write_result(input, result, f"{function.__name__}_")
    memory, places = memory_of(input, copies=False)
    named = take(wrap(places), index.long())
    _write_result_of(function, memory, (named, source), options)
    return input


def write_along(
    function: Callable[..., Tensor],
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Any,
    *,
    slices: bool = False,
    **options: Any,
) -> Tensor:
    """Write the result of ``function(input, dim, index, source)`` into `input`.

    If elements of `input` share memory, such as those of `unfold`, those that are named are written
    there, and the others see it.

    Args:
        function: writes a number, or a tensor, at positions of a copy.
        input: is written.
        dim: dimension along which `index` counts.
        index: positions of elements, or of slices.
        source: what the function takes.
        slices: `index` names slices.
        options: what the function takes besides.

    Raises:
        RuntimeError: a dimension shows one element several times, or `function` raises it.
    """
    result = function(before_write(input), dim, index, source, **options)
    if not is_overlapping(input):
        return write_result(input, result, f"{function.__name__}_")
    memory, places = memory_of(input, copies=False)
    named = (index_select if slices else gather)(wrap(places), dim, index)
    if isinstance(source, Tensor):
        source = source[tuple(map(slice, named.shape))].reshape(-1)
    _write_result_of(function, memory, (0, named.reshape(-1), source), options)
    return input


def _write_result_of(
    function: Callable[..., Tensor], memory: Tensor, args: tuple, options: dict[str, Any]
) -> None:
    written = function(before_write(memory), *args, **options)
    write_result(memory, written, f"{function.__name__}_")
