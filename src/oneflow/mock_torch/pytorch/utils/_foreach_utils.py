"""``torch.utils._foreach_utils``: lists of tensors sorted by device and dtype."""

from __future__ import annotations

from typing import Any

from oneflow.tensor.tensor import Tensor

Lists = list[list[Tensor | None]]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Lists, with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[Lists, list[int]]]:
    """Return lists of tensors by the device and dtype of the first list's tensors.

    Args:
        tensorlistlist: lists of one length, whose tensors at one position belong together.
        with_indices: whether the positions are given, too.
    """
    groups: dict[tuple[Any, Any], tuple[Lists, list[int]]] = {}
    for index, row in enumerate(zip(*tensorlistlist, strict=True)):
        first = row[0]
        key = (first.device, first.dtype) if first is not None else (None, None)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for members, tensor in zip(lists, row, strict=True):
            members.append(tensor)
        if with_indices:
            indices.append(index)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the types of devices on which `_foreach_` functions run."""
    return ["cpu", "cuda"]
