"""How long things take, roughly: enough to tell a good plan from a bad one.

A device computes, reads and writes its memory, and sends, at the rates of a data sheet; a
collective takes a fixed time besides. Nothing overlaps. Real steps are slower and overlap more,
which matters little for a comparison.
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
class Machine:
    """Rates of one device.

    Attributes:
        flops: operations per second.
        memory: bytes per second that it reads or writes.
        link: bytes per second that it sends to others.
        latency: seconds that a collective takes besides.
    """

    flops: float
    memory: float
    link: float
    latency: float

    def seconds(self, flops: float, touched: int) -> float:
        """Seconds that it computes, with so many bytes read and written."""
        return flops / self.flops + touched / self.memory


# By the type of a placement. Data sheets: NVIDIA H100 SXM (bfloat16 at half of the peak, NVLink in
# one direction), Google TPU v5p (likewise, links of one chip). CPU: a few cores, and a process per
# device on the same host.
DEVICE_RATES = {
    "cuda": Machine(flops=5e14, memory=3.3e12, link=4.5e11, latency=1e-5),
    "tpu": Machine(flops=2.3e14, memory=2.7e12, link=3e11, latency=3e-6),
    "cpu": Machine(flops=1e11, memory=1e10, link=2e9, latency=5e-5),
}


@functools.lru_cache(maxsize=1 << 18)
def boxing_seconds(machine: Machine, spec: TensorSpec, source: NdSbp, target: NdSbp) -> float:
    """Seconds that it takes to bring a tensor from one SBP to another on its placement."""
    if source == target or not spec.numel:
        return 0.0
    hierarchy, itemsize = spec.device.hierarchy, spec.dtype.itemsize
    _, steps = boxing_path(spec.shape, itemsize, hierarchy, source, target)
    seconds = 0.0
    for step in steps:
        seconds += bytes_sent(step, spec.shape, itemsize, hierarchy) / machine.link
        seconds += shard_bytes(with_sbp(spec, step.target)) / machine.memory
        seconds += machine.latency if step.communicates else 0.0
    return seconds


def operation_seconds(machine: Machine, operation: Operation) -> tuple[float, float]:
    """Seconds that one device computes for an operation on a placement, and that it converts."""
    if operation.primitive.traits.kind is Kind.BOXING:
        given, spec = operation.attributes, operation.in_specs[0]
        return 0.0, boxing_seconds(machine, spec, given["source"], given["target"])
    work = operation_cost(operation)
    return machine.seconds(work.flops, work.touched), 0.0
