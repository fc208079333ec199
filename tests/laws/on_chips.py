"""Rows of the operator table as programs for devices that are not here."""

from __future__ import annotations

import contextlib
from typing import Any

import jax
from jax.sharding import SingleDeviceSharding

from oneflow.base.device import Device
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.base.x64 import in_x64
from oneflow.compiler.options import operation_options
from oneflow.compiler.topologies import missing_devices
from oneflow.plan import planning
from oneflow.primitives.cost.chips import Chip
from oneflow.primitives.operation import Operation
from oneflow.program.evaluate import walk
from oneflow.program.ir import Instruction, Program
from tests.laws.recording import record
from tests.oracle import FLOW, differentiated
from tests.samples.table import Operator


def programs_of(row: Operator, type: str) -> list[Program]:
    """The results, and the first gradients, of the row's first case, on a device of a type.

    Raises:
        NotImplementedError: an operator says that it cannot be computed there.
    """
    dtype = row.dtypes[0]
    has_gradients = bool(row.gradient_dtypes) and dtype.startswith(("float", "complex"))
    arguments = FLOW.arguments(row.cases[0], dtype, "", with_grad=has_gradients)

    def call() -> None:
        # A call that is refused has recorded what came before.
        with contextlib.suppress(Exception):
            if has_gradients:
                differentiated(FLOW, row, arguments, "", 1)
            else:
                FLOW.function(row)(*arguments.args, **arguments.kwargs)

    recorded = record(call)
    with planning():
        return [_on_device(recording.program, Device(type, 0)) for recording in recorded]


def _on_device(program: Program, device: Device) -> Program:
    """The program on another device; it returns all that it computes."""

    def moved(specs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        return tuple(spec_of(spec.shape, spec.dtype, device) for spec in specs)

    def instruction_on_device(instruction: Instruction) -> Instruction:
        old = instruction.operation
        attributes = old.attributes | {"device": device}
        operation = Operation(old.primitive, attributes, moved(old.in_specs), old.is_scalar)
        return Instruction(operation, instruction.operands, instruction.results)

    results = (number for instruction in program.instructions for number in instruction.results)
    return Program(
        moved(program.inputs),
        moved(program.scalars),
        tuple(map(instruction_on_device, program.instructions)),
        tuple(results),
    )


@in_x64
def compile_for(program: Program, chip: Chip) -> None:
    """Compile a program and its checks for a chip, as operations are compiled that run alone."""
    sharding = SingleDeviceSharding(missing_devices(chip, 1)[0])

    def run(arrays: Any, scalars: Any) -> Any:
        outputs, checked = walk(program, arrays, scalars)
        return outputs, [operation.evaluate_check(*operands) for operation, operands in checked]

    def abstract(spec: TensorSpec) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy, sharding=sharding)

    inputs = [list(map(abstract, specs)) for specs in (program.inputs, program.scalars)]
    options = operation_options(chip.type)
    jax.jit(run, out_shardings=sharding, compiler_options=options).lower(*inputs).compile()
