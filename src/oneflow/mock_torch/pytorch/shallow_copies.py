"""Tensors that can take over each other's memory."""

from __future__ import annotations

from oneflow import Tensor
from oneflow.base.layout import Layout
from oneflow.tensor.subclasses import overridable


@overridable
def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    """Return whether a tensor can take over the memory of another one; classes are asked.

    Args:
        self: the tensor.
        from_: the other one.
    """
    return _kind(self) == _kind(from_)


def _kind(x: Tensor) -> tuple[bool, str]:
    is_compressed = x.layout not in (Layout.strided, Layout.sparse_coo)
    return x.device.type == "meta", "compressed" if is_compressed else str(x.layout)
