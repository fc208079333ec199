"""The largest values that a device stores when its memory is used most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.plan.step_program import StepProgram
from oneflow.primitives.cost.operation_cost import shard_bytes, shard_shape_of
from oneflow.program.liveness import live_at_peak

_COUNT = 8


@dataclass(frozen=True)
class StoredValue:
    """A value that a device stores.

    Attributes:
        nbytes: the bytes of its part on the device.
        where: name of the parameter, or path of the module.
        what: kind of the input, or the operator that makes it.
        tensor: dtype and shape of the part.
    """

    nbytes: int
    where: str
    what: str
    tensor: str


def largest_values(step: StepProgram, stage: Placement | None = None) -> list[StoredValue]:
    """Return the largest values of a step at the peak of its memory, the largest first.

    Args:
        step: the step.
        stage: the stage of a pipeline whose values are meant; None: all.
    """
    values = sorted(_values(step, stage), key=lambda value: -value.nbytes)
    return values[:_COUNT]


def _values(step: StepProgram, stage: Placement | None) -> Iterator[StoredValue]:
    program = step.cse_program
    for tensor, spec in zip(step.inputs, program.inputs, strict=True):
        if stage in (None, spec.device):
            yield _stored(spec, tensor.name, tensor.kind)
    for instruction, spec in live_at_peak(program):
        if stage in (None, spec.device):
            yield _stored(spec, instruction.scope, instruction.operation.primitive.name)


def _stored(spec: TensorSpec, where: str, what: str) -> StoredValue:
    shape = ",".join(map(str, shard_shape_of(spec)))
    return StoredValue(shard_bytes(spec), where, what, f"{spec.dtype.name}[{shape}]")
