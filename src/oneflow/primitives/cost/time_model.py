"""Rough estimates of time: enough to tell a good plan from a bad one.

A device computes, accesses its memory, and sends, at the rates of a data sheet; a collective has a
fixed latency besides. Nothing overlaps. Real steps are slower and overlap more, which matters
little for a comparison.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.primitives.cost.operation_cost import operation_cost, shard_bytes
from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.boxing_path import boxing_path, bytes_sent
from oneflow.primitives.traits import Kind


@dataclass(frozen=True)
class HardwareModel:
    """Rates of one device.

    Attributes:
        flops: operations per second.
        memory: bytes per second that it reads or writes.
        link: bytes per second that it sends to others.
        latency: seconds of a collective besides its bytes.
    """

    flops: float
    memory: float
    link: float
    latency: float

    def seconds(self, flops: float, bytes_accessed: int) -> float:
        """The seconds of a computation, with so many bytes read and written."""
        return flops / self.flops + bytes_accessed / self.memory


# By the type of a placement. Data sheets: NVIDIA H100 SXM (bfloat16 at half of the peak, NVLink in
# one direction), Google TPU v5p (likewise, links of one chip). CPU: a few cores, and a process per
# device on the same host.
HARDWARE = {
    "cuda": HardwareModel(flops=5e14, memory=3.3e12, link=4.5e11, latency=1e-5),
    "tpu": HardwareModel(flops=2.3e14, memory=2.7e12, link=3e11, latency=3e-6),
    "cpu": HardwareModel(flops=1e11, memory=1e10, link=2e9, latency=5e-5),
}


@functools.lru_cache(maxsize=1 << 18)
def boxing_seconds(
    hardware: HardwareModel, spec: TensorSpec, source: NdSbp, target: NdSbp
) -> float:
    """The seconds of converting a tensor from one SBP to another on its placement."""
    if source == target or not spec.numel:
        return 0.0
    hierarchy, itemsize = spec.device.hierarchy, spec.dtype.itemsize
    _, steps = boxing_path(spec.shape, itemsize, hierarchy, source, target)
    seconds = 0.0
    for step in steps:
        seconds += bytes_sent(step, spec.shape, itemsize, hierarchy) / hardware.link
        seconds += shard_bytes(with_sbp(spec, step.target)) / hardware.memory
        seconds += hardware.latency if step.is_collective else 0.0
    return seconds


def operation_seconds(hardware: HardwareModel, operation: Operation) -> tuple[float, float]:
    """The seconds that one device computes for an operation, and that it converts SBP."""
    if operation.primitive.traits.kind is Kind.BOXING:
        attributes, spec = operation.attributes, operation.in_specs[0]
        return 0.0, boxing_seconds(hardware, spec, attributes["source"], attributes["target"])
    cost = operation_cost(operation)
    return hardware.seconds(cost.flops, cost.bytes_accessed), 0.0
