"""The verifier: the rules of a valid program.

The tests run it on every program, eager or of a graph, before and after every pass: see
`tests/conftest.py`, and `PASS_CALLBACKS` in `oneflow.passes.pipeline`.
"""

from __future__ import annotations

from oneflow.base.spec import with_sbp
from oneflow.primitives.inference import infer
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Instruction, Program
from oneflow.program.printer import format_instruction


class InvalidProgramError(ValueError):
    """A program breaks a rule; the message names the instruction and shows its context."""


def verify(program: Program) -> None:
    """Check the structure of a program, and that its operations infer the specs they state.

    Inference traces every operation, which takes milliseconds for each.

    Raises:
        InvalidProgramError: a rule is broken.
    """
    verify_structure(program)
    for index, instruction in enumerate(program.instructions):
        problem = _wrong_inference(instruction.operation)
        if problem is not None:
            raise InvalidProgramError(_message(program, index, problem))


def verify_structure(program: Program) -> None:
    """Check that every value is defined once, before its use, with the specs its operation states.

    Raises:
        InvalidProgramError: a rule is broken.
    """
    table = dict(enumerate((*program.inputs, *program.scalars)))
    for index, instruction in enumerate(program.instructions):
        problem = _broken_rule(instruction, table)
        if problem is not None:
            raise InvalidProgramError(_message(program, index, problem))
        table.update(zip(instruction.results, instruction.operation.out_specs, strict=True))
    for number in program.outputs:
        if number not in table:
            raise InvalidProgramError(f"output %{number} is never defined")


def _message(program: Program, index: int, problem: str) -> str:
    context = program.instructions[max(0, index - 3) : index + 4]
    lines = "\n".join(f"  {format_instruction(instruction)}" for instruction in context)
    return f"instruction {index}: {problem}\n{lines}"


def _broken_rule(instruction: Instruction, table: dict) -> str | None:
    """The rule that one instruction breaks, as text, or None."""
    operation = instruction.operation
    if len(instruction.operands) != len(operation.in_specs):
        return (
            f"`{operation.primitive.name}` takes {len(operation.in_specs)} operands, "
            f"got {len(instruction.operands)}"
        )
    for number, spec in zip(instruction.operands, operation.in_specs, strict=True):
        if number not in table:
            return f"%{number} is used before it is defined"
        if table[number] is not spec:
            return (
                f"%{number} is {table[number]!r}, but `{operation.primitive.name}` expects {spec!r}"
            )
    if any(number in table for number in instruction.results):
        return f"%{instruction.results.start} is defined twice"
    if len(instruction.results) != operation.count:
        return (
            f"`{operation.primitive.name}` makes {operation.count} values, "
            f"got {len(instruction.results)}"
        )
    return None


def _wrong_inference(operation: Operation) -> str | None:
    """The difference between the specs that an operation infers and states, as text, or None."""
    inferred, _ = infer(
        operation.primitive, operation.attributes, operation.in_specs, operation.device
    )
    specs = inferred if isinstance(inferred, tuple) else (inferred,)
    if operation.signature is not None:
        specs = tuple(map(with_sbp, specs, operation.signature.outputs))
    if specs != operation.out_specs:
        return f"`{operation.primitive.name}` infers {specs!r}, but states {operation.out_specs!r}"
    return None
