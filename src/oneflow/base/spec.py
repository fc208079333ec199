"""`TensorSpec`: what is known about a tensor without running anything.

Interned, so `is` compares.
"""

from __future__ import annotations

import math

from oneflow.base.device import Device
from oneflow.base.dtype import DType


class TensorSpec:
    """Shape, dtype and device of a tensor.

    Make one with `spec_of`; equal specs are the same object.
    """

    __slots__ = ("device", "dtype", "ndim", "numel", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: DType, device: Device) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.ndim = len(shape)
        self.numel = math.prod(shape)

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


_KNOWN: dict[tuple[tuple[int, ...], DType, Device], TensorSpec] = {}


def spec_of(shape: tuple[int, ...], dtype: DType, device: Device) -> TensorSpec:
    """The one spec with this shape, dtype and device."""
    key = (shape, dtype, device)
    spec = _KNOWN.get(key)
    if spec is None:
        spec = _KNOWN.setdefault(key, TensorSpec(shape, dtype, device))
    return spec
