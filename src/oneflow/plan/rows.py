"""The rows of a plan: the inputs of a program, and its operators with the SBP of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from oneflow.base.sbp import sbp_text
from oneflow.base.spec import TensorSpec
from oneflow.plan.step_program import StepProgram
from oneflow.primitives.cost.operation_cost import operation_cost, shard_bytes, shard_shape_of
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction


@dataclass(frozen=True)
class InputRow:
    """Inputs of one kind that look the same.

    Attributes:
        name: with ``*`` for the numbers of layers.
        kind: the same as in `Input`.
        shape: the shape of the whole tensor.
        dtype: the dtype of its elements.
        sbp: its SBP.
        shard: shape of the shard of each device.
        shard_bytes: bytes of the shard of one of them.
        stage: number of the stage of a pipeline where it is.
        count: number of these inputs.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    sbp: str
    shard: tuple[int, ...]
    shard_bytes: int
    stage: int = 0
    count: int = 1


@dataclass(frozen=True)
class OperatorRow:
    """Operators that look the same.

    Attributes:
        scope: path of their module, with ``*`` for the numbers of layers; empty for the backward
            pass and the update.
        operator: name; ``"convert"`` for a change of SBP.
        operands: dtype, shape and SBP of the operands.
        results: the same of the results.
        collectives: kinds of the collectives of one of them.
        sent: bytes that each device sends for one of them.
        flops: operations that each device computes for one of them.
        count: number of these operators.
    """

    scope: str
    operator: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    collectives: tuple[str, ...]
    sent: float
    flops: int
    count: int = 1


def input_rows(step: StepProgram) -> list[InputRow]:
    """The inputs of the program; equal ones are one row."""
    stages = step.pipeline.stages if step.pipeline else []
    rows: dict[InputRow, int] = {}
    for step_input, spec in zip(step.inputs, step.program.inputs, strict=True):
        row = InputRow(
            _without_numbers(step_input.name),
            step_input.kind,
            spec.shape,
            spec.dtype.name,
            sbp_text(spec.sbp or ()),
            shard_shape_of(spec),
            shard_bytes(spec),
            stages.index(spec.device) if stages else 0,
        )
        rows[row] = rows.get(row, 0) + 1
    return [replace(row, count=count) for row, count in rows.items()]


def operator_rows(step: StepProgram) -> list[OperatorRow]:
    """Every operator of the program, in order."""
    return list(map(_operator_row, step.cse_program.instructions))


def grouped(rows: Iterable[OperatorRow]) -> list[OperatorRow]:
    """Merge equal rows, such as rows of layers with the same structure."""
    counts: dict[OperatorRow, int] = {}
    for row in rows:
        short = replace(row, scope=_without_numbers(row.scope))
        counts[short] = counts.get(short, 0) + 1
    return [replace(row, count=count) for row, count in counts.items()]


def _operator_row(instruction: Instruction) -> OperatorRow:
    operation = instruction.operation
    tensors = [
        spec
        for spec, is_scalar in zip(operation.in_specs, operation.is_scalar, strict=True)
        if not is_scalar
    ]
    collectives = collectives_of(operation)
    is_conversion = operation.primitive.traits.kind is Kind.BOXING
    return OperatorRow(
        instruction.scope,
        "convert" if is_conversion else operation.primitive.name,
        _spec_lines(tensors),
        _spec_lines(operation.out_specs),
        tuple(f"{collective.kind} of {collective.group}" for collective in collectives),
        sum(collective.sent for collective in collectives),
        operation_cost(operation).flops,
    )


# Updates of many parameters at once have hundreds of operands.
_MAX_SPECS = 6


def _spec_lines(specs: Sequence[TensorSpec]) -> tuple[str, ...]:
    lines = tuple(map(repr, specs[:_MAX_SPECS]))
    rest = len(specs) - len(lines)
    return (*lines, f"and {rest} more") if rest else lines


def _without_numbers(path: str) -> str:
    """The path with ``*`` for the numbers of layers."""
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "*", path)
