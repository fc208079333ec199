"""Indices as operators: ``x[0, 1:]`` is `select` and `slice`, ``x[i] = y`` is `index_put_`."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.mock_torch.python_dispatch.decompositions import composition
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.tensor.tensor import Tensor

_ALL = slice(None)
#: The number that PyTorch takes for the end of a slice that has none.
_END = 2**63 - 1


def _entries(x: Tensor, index: Any) -> list[Any]:
    """The entries of an index, slices of everything in place of the ellipsis."""
    entries = list(index) if isinstance(index, tuple) else [index]
    taken = sum(_dims(entry) for entry in entries)
    place = next((at for at, entry in enumerate(entries) if entry is Ellipsis), None)
    if place is not None:
        entries[place : place + 1] = [_ALL] * (x.ndim - taken)
    return entries


def _dims(entry: Any) -> int:
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    is_mask = isinstance(entry, Tensor) and entry.dtype in (flow.bool, flow.uint8)
    return entry.ndim if is_mask else 1


def _basic_view(x: Tensor, entries: list[Any]) -> tuple[Tensor, list[Any]]:
    """The view by the numbers, slices and new dimensions among entries, and the others' places."""
    dim, others = 0, []
    for entry in entries:
        if entry is None or isinstance(entry, bool):
            x = operator("unsqueeze", x, dim)
            others.append(None if entry is None else flow.tensor([entry], device=x.device))
            dim += 1
        elif isinstance(entry, slice):
            if entry != _ALL:
                x = _sliced(x, dim, entry)
            others.append(None)
            dim += 1
        elif isinstance(entry, Tensor | list | tuple) or hasattr(entry, "__array__"):
            tensor = entry if isinstance(entry, Tensor) else flow.tensor(entry, device=x.device)
            others.append(tensor)
            dim += _dims(tensor)
        else:
            x = operator("select", x, dim, int(entry))
    return x, others


def _sliced(x: Tensor, dim: int, part: slice) -> Tensor:
    if part.step is not None and int(part.step) < 1:
        raise ValueError("step must be greater than zero")
    size = x.shape[dim]
    start = 0 if part.start is None else int(part.start)
    stop = _END if part.stop is None else int(part.stop)
    start, stop = (place + size if place < 0 else place for place in (start, stop))
    step = 1 if part.step is None else int(part.step)
    return operator("slice", x, dim, max(start, 0), max(stop, 0), step)


def _without_last(indices: list[Any]) -> list[Any]:
    while indices and indices[-1] is None:
        indices.pop()
    return indices


@composition("__getitem__")
def _get_item(self: Tensor, index: Any) -> Tensor:
    view, others = _basic_view(self, _entries(self, index))
    indices = _without_last(others)
    if indices:
        return operator("index", view, indices)
    return operator("alias", self) if view is self else view


@composition("__setitem__")
def _set_item(self: Tensor, index: Any, value: Any) -> None:
    view, others = _basic_view(self, _entries(self, index))
    indices = _without_last(others)
    if indices:
        if not isinstance(value, Tensor):
            value = operator("scalar_tensor", value, dtype=self.dtype, device=self.device)
        operator("index_put_", view, indices, value)
    elif isinstance(value, Tensor):
        operator("copy_", view, value)
    else:
        operator("fill_", view, value)
