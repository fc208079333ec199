"""Tensors that travel together: what is sent as one vector arrives sooner than piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed.exchange import exchange_values
from oneflow.primitives.operators.bucket import pack_bucket, unpack_bucket
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


def exchange_in_buckets(
    kind: Callable[..., Any],
    buckets: Sequence[Sequence[Tensor]],
    values_of: Callable[[Sequence[Tensor]], list[Value]],
    **attributes: Any,
) -> list[tuple[Tensor, Value]]:
    """Run a collective operation of all processes on what tensors stand for, packed as vectors.

    Args:
        kind: one of `oneflow.distributed.exchange`, which gives as many vectors as it takes.
        buckets: tensors whose values travel together.
        values_of: what is sent for the tensors of a bucket. It is asked for all buckets before
            anything is computed, and a value that nobody holds afterwards is never stored.
        attributes: further arguments of `kind`.

    Returns:
        Each tensor with its result.
    """
    received: list[tuple[Tensor, Value]] = []
    if not buckets:
        return received
    with no_grad():
        vectors = [pack_bucket(*values_of(bucket)) for bucket in buckets]
        results = exchange_values(kind, vectors, **attributes)
        for bucket, vector in zip(buckets, results, strict=True):
            shapes = tuple([tuple(tensor.shape) for tensor in bucket])
            received += zip(bucket, unpack_bucket(vector, shapes=shapes), strict=True)
    return received


def values_of(tensors: Sequence[Tensor]) -> list[Value]:
    """The values that tensors have now."""
    return [tensor.value for tensor in tensors]
