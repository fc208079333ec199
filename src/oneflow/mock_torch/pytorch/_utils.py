"""Names of ``torch._utils``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from oneflow.tensor.tensor import Tensor


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


__all__ = ["_take_tensors"]
