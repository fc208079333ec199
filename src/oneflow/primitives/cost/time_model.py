"""Rough estimates of time: enough to tell a good plan from a bad one.

A device computes, accesses its memory, and sends, at the rates of a data sheet; a collective has a
fixed latency besides. Nothing overlaps. Real steps are slower and overlap more, which matters
little for a comparison.
"""

from __future__ import annotations

import functools
import math

from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.primitives.cost.chips import Chip
from oneflow.primitives.cost.operation_cost import operation_cost, shard_bytes
from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.boxing_path import boxing_path, transfer_bytes
from oneflow.primitives.traits import Kind


@functools.lru_cache(maxsize=1 << 18)
def boxing_seconds(chip: Chip, spec: TensorSpec, source: NdSbp, target: NdSbp) -> float:
    """The seconds of converting a tensor from one SBP to another on its placement."""
    if source == target or not spec.numel:
        return 0.0
    hierarchy, itemsize = spec.device.hierarchy, spec.dtype.itemsize
    _, edges = boxing_path(spec.shape, itemsize, hierarchy, source, target)
    seconds = 0.0
    for edge in edges:
        stride = math.prod(hierarchy[edge.axis + 1 :])
        rate = chip.link_rate(hierarchy[edge.axis], stride)
        seconds += transfer_bytes(edge, spec.shape, itemsize, hierarchy) / rate
        seconds += shard_bytes(with_sbp(spec, edge.target)) / chip.bandwidth
        seconds += chip.latency if edge.is_collective else 0.0
    return seconds


def compute_dtype(operation: Operation) -> str:
    """The dtype that decides an operation's rate: its first floating-point tensor's."""
    for spec, is_scalar in zip(operation.in_specs, operation.is_scalar, strict=True):
        if spec.dtype.is_floating_point and not is_scalar:
            return spec.dtype.name
    return "float32"


def operation_seconds(chip: Chip, operation: Operation) -> tuple[float, float]:
    """The seconds that one device takes for an operation: computing, and converting SBP."""
    if operation.primitive.traits.kind is Kind.BOXING:
        attributes, spec = operation.attributes, operation.in_specs[0]
        return 0.0, boxing_seconds(chip, spec, attributes["source"], attributes["target"])
    cost = operation_cost(operation)
    return chip.seconds(cost.flops, compute_dtype(operation), cost.bytes_accessed), 0.0
