"""Buckets of tensors for collectives: one long vector is sent faster than many short ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed.device_group import run_on_values
from oneflow.primitives.operators.bucket import pack_bucket, unpack_bucket
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

Kind = tuple[DType, Device]


def make_buckets(tensors: Sequence[Tensor], max_size: int | None = None) -> list[list[Tensor]]:
    """Group tensors by dtype and device in their order, at most `max_size` in each bucket."""
    buckets: list[list[Tensor]] = []
    open_buckets: dict[Kind, list[Tensor]] = {}
    for tensor in tensors:
        kind = (tensor.dtype, tensor.device)
        bucket = open_buckets.get(kind)
        if bucket is None or len(bucket) == max_size:
            bucket = open_buckets[kind] = []
            buckets.append(bucket)
        bucket.append(tensor)
    return buckets


def run_on_buckets(
    function: Callable[..., Any],
    buckets: Sequence[Sequence[Tensor]],
    values_of: Callable[[Sequence[Tensor]], list[Value]],
    ranks: tuple[int, ...] | None = None,
    **attributes: Any,
) -> list[tuple[Tensor, Value]]:
    """Run a collective operation of some ranks on values of tensors, packed into vectors.

    Args:
        function: one of `collective_functions` that returns as many vectors as it takes.
        buckets: the tensors of each vector.
        values_of: returns the values that are sent for the tensors of a bucket. It is called for
            all buckets before anything is computed, and a value without other references is never
            stored.
        ranks: the ranks, by default all.
        attributes: further arguments of `function`.

    Returns:
        Each tensor with its result.
    """
    pairs: list[tuple[Tensor, Value]] = []
    if not buckets:
        return pairs
    with no_grad():
        vectors = [pack_bucket(*values_of(bucket)) for bucket in buckets]
        results = run_on_values(function, vectors, ranks, **attributes)
        for bucket, vector in zip(buckets, results, strict=True):
            shapes = tuple([tuple(tensor.shape) for tensor in bucket])
            pairs += zip(bucket, unpack_bucket(vector, shapes=shapes), strict=True)
    return pairs


def values_of(tensors: Sequence[Tensor]) -> list[Value]:
    """Return the current values of tensors."""
    return [unwrap(tensor) for tensor in tensors]
