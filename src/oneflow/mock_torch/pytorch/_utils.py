"""Names of ``torch._utils``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from oneflow import Tensor, empty
from oneflow.nn import Parameter


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield lists of tensors of one data type and device, whose sizes do not exceed a limit.

    Args:
        tensors: the tensors; one that exceeds the limit alone has a list of its own.
        size_limit: the limit in bytes.
    """
    waiting: dict[object, list[Tensor]] = defaultdict(list)
    sizes: dict[object, int] = defaultdict(int)
    for tensor in tensors:
        kind = tensor.type()
        size = tensor.numel() * tensor.element_size()
        if waiting[kind] and sizes[kind] + size > size_limit:
            yield waiting.pop(kind)
            sizes[kind] = 0
        waiting[kind].append(tensor)
        sizes[kind] += size
    yield from filter(None, waiting.values())


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """Return a tensor on a storage's memory."""
    return empty(0, dtype=storage.dtype).set_(storage, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """Return a tensor on a storage's memory, as files describe it; they have no hooks."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return tensor.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Return a parameter, as files describe it; they have no hooks."""
    return Parameter(data, requires_grad)


__all__ = ["_rebuild_parameter", "_rebuild_tensor", "_rebuild_tensor_v2", "_take_tensors"]
