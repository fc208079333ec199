"""Programs as text. The printed form is an interface: tests of passes compare it."""

from __future__ import annotations

from oneflow.program.ir import Instruction, Program


def format_program(program: Program, name: str = "program") -> str:
    """A program as text, one line per instruction.

    Example:
        >>> import oneflow as flow
        >>> print(flow.eager.format_program(flow.eager.record(flow.exp, flow.ones(2))))
        program(%0: float32[2]) {
          %1: float32[2] = exp(%0)
          return %1
        }
    """
    arrays = [f"%{number}: {spec!r}" for number, spec in enumerate(program.inputs)]
    first = len(program.inputs)
    scalars = [f"${first + index}: {spec.dtype.name}" for index, spec in enumerate(program.scalars)]
    scalar_numbers = range(first, first + len(program.scalars))
    lines = [f"{name}({', '.join(arrays + scalars)}) {{"]
    lines += [
        f"  {format_instruction(instruction, scalar_numbers)}"
        for instruction in program.instructions
    ]
    lines.append(f"  return {', '.join(f'%{number}' for number in program.outputs)}")
    return "\n".join([*lines, "}"])


def format_instruction(instruction: Instruction, scalar_numbers: range = range(0)) -> str:
    """One instruction as text: results, name, operands, attributes, scope."""
    operation = instruction.operation
    results = ", ".join(
        f"%{number}: {spec!r}"
        for number, spec in zip(instruction.results, operation.out_specs, strict=True)
    )
    operands = [
        f"{'$' if number in scalar_numbers else '%'}{number}" for number in instruction.operands
    ]
    attributes = [f"{name}={value!r}" for name, value in operation.attributes.items()]
    scope = f"  # {instruction.scope}" if instruction.scope else ""
    return f"{results} = {operation.primitive.name}({', '.join(operands + attributes)}){scope}"
