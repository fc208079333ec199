"""`TensorSpec`: the properties of a tensor that are known without running anything.

Interned, so `is` compares.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakValueDictionary

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.placement import Placement
from oneflow.base.sbp import NdSbp, sbp_text
from oneflow.base.shape import Size

# XLA counts bytes in int64, and aborts the process if they do not fit.
_MAX_BYTES = 2**63 - 1


def require_size(name: str, shape: tuple[int, ...], dtype: Any, copies: int = 1) -> None:
    """Check that an array of these sizes can exist.

    Args:
        name: the name of the operator that would make it, for the error.
        shape: sizes. Zeros count as ones, because XLA multiplies the others nevertheless.
        dtype: a dtype, or NumPy's.
        copies: number of devices of a global tensor; each may hold all of it.

    Raises:
        RuntimeError: it would take more than ``2**63 - 1`` bytes.
    """
    size = math.prod([length or 1 for length in shape]) * dtype.itemsize * copies
    if size > _MAX_BYTES:
        raise RuntimeError(
            f"`{name}` cannot make a tensor of shape {tuple(shape)} and dtype {dtype.name}: that "
            f"is {size} bytes, and no array has more than {_MAX_BYTES}; check the sizes given"
        )


class TensorSpec:
    """Shape, dtype, and device or sharding of a tensor.

    Make one with `spec_of`; equal specs are the same object.

    Attributes:
        shape: sizes, a plain tuple; of a global tensor, of the whole.
        size: the shape as users get it, a `Size`.
        dtype: element type.
        device: a device, or the placement of a global tensor.
        sbp: one signature per mesh dimension of a global tensor; None for a local one.
    """

    __slots__ = ("__weakref__", "device", "dtype", "ndim", "numel", "sbp", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: DType, device: Any, sbp: Any) -> None:
        self.shape = tuple(shape)
        self.size = Size(shape)
        self.dtype = dtype
        self.device = device
        self.sbp = sbp
        self.ndim = len(shape)
        self.numel = math.prod(shape)
        require_size("tensor", shape, dtype, 1 if sbp is None else device.size)

    @property
    def nbytes(self) -> int:
        """Size of all elements in bytes; of a global tensor, of the whole."""
        return self.numel * self.dtype.itemsize

    def __repr__(self) -> str:
        text = f"{self.dtype.name}[{','.join(map(str, self.shape))}]"
        return text if self.sbp is None else text + sbp_text(self.sbp)


# Entries go when nothing refers to the spec any more.
_KNOWN: WeakValueDictionary[tuple[Any, ...], TensorSpec] = WeakValueDictionary()


def spec_of(
    shape: tuple[int, ...], dtype: DType, device: Device | Placement, sbp: NdSbp | None = None
) -> TensorSpec:
    """Return the one spec with this shape, dtype, device and sbp."""
    key = (shape, dtype, device, sbp)
    spec = _KNOWN.get(key)
    if spec is None:
        spec = _KNOWN.setdefault(key, TensorSpec(shape, dtype, device, sbp))
    return spec


def with_sbp(spec: TensorSpec, sbp: NdSbp) -> TensorSpec:
    """Return the spec of a global tensor with another SBP."""
    return spec_of(spec.shape, spec.dtype, spec.device, sbp)
