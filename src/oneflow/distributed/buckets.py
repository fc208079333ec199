"""Tensors that travel together: what is sent as one vector arrives sooner than piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.primitives.bucket import pack_bucket, unpack_bucket
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor

Kind = tuple[DType, Device]


def in_buckets(tensors: Sequence[Tensor], largest: int | None = None) -> list[list[Tensor]]:
    """Tensors in their order, those of one dtype and device together, at most `largest` in each."""
    buckets: list[list[Tensor]] = []
    filling: dict[Kind, list[Tensor]] = {}
    for tensor in tensors:
        kind = (tensor.dtype, tensor.device)
        bucket = filling.get(kind)
        if bucket is None or len(bucket) == largest:
            bucket = filling[kind] = []
            buckets.append(bucket)
        bucket.append(tensor)
    return buckets


def pack(values: Sequence[Value]) -> Value:
    """The values of one bucket, one after the other in a vector."""
    return pack_bucket(*values)


def unpack(vector: Value, bucket: Sequence[Tensor]) -> Sequence[Value]:
    """The parts of a vector, shaped as the tensors of its bucket are."""
    return unpack_bucket(vector, shapes=tuple([tuple(tensor.shape) for tensor in bucket]))
