"""`StepBinding`: the tensors behind the inputs and outputs of a compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.graph.captured_step import CapturedStep, StepInput
from oneflow.graph.variables import Attribute
from oneflow.passes.inputs import inputs_read, with_inputs
from oneflow.program.ir import Program
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class StepBinding:
    """The tensors that the inputs and outputs of a program stand for.

    The program's inputs are arguments, variables and constants, in this order. Its outputs are the
    new values of variables, new contents of arguments, gradients to hand out, and results.

    Attributes:
        inputs: the inputs of the program.
        arguments: indices of the tensor arguments that are read.
        variables: tensors that are read.
        changed: number of the variables, counted from the first, that get new values.
        write_only: tensors that get new values without being read.
        constants: arrays that are always the same.
        written: indices of the tensor arguments that are written to.
        written_variables: the tensors that `build` writes to in place, by their identity.
        gradients: tensors, or indices of tensor arguments, that get gradients, and their SBP.
        results: per result, its spec, or the tensor or index of the argument that it is.
        structure: the structure of the results.
        called: structure of the arguments.
        names: the variables' names, by the identity of the tensor.
        attributes: attributes that have to be the same for the binding to hold.
        guarded_dicts: dicts of modules that may get no further modules, parameters, buffers and
            hooks.
    """

    inputs: tuple[StepInput, ...]
    arguments: tuple[int, ...]
    variables: tuple[Tensor, ...]
    changed: int
    write_only: tuple[Tensor, ...]
    constants: tuple[Any, ...]
    written: tuple[int, ...]
    written_variables: Mapping[int, Tensor]
    gradients: tuple[tuple[Tensor | int, NdSbp | None], ...]
    results: tuple[TensorSpec | Tensor | int, ...]
    structure: Any
    called: Any
    names: Mapping[int, str]
    attributes: tuple[Attribute, ...]
    guarded_dicts: tuple[dict[Any, Any], ...]


def bind(captured: CapturedStep, program: Program) -> tuple[Program, StepBinding]:
    """Bind a program to tensors.

    Args:
        captured: the captured step.
        program: what passes made of its program.

    Returns:
        The program without the inputs that nothing reads, with its inputs and outputs in the order
        of the binding, and the binding.
    """
    read = inputs_read(program)
    inputs, updates = captured.inputs, captured.updates
    # Updated variables that are read come first, among the inputs and among the outputs.
    order = sorted(range(len(updates)), key=lambda index: updates[index] not in read)
    changed = sum(number in read for number in updates)
    replaced = [updates[index] for index in order]
    variables = replaced[:changed]
    arguments, constants = [], []
    for number in sorted(read):
        if inputs[number].kind == "argument":
            arguments.append(number)
        elif inputs[number].kind == "constant":
            constants.append(number)
        elif number not in updates:
            variables.append(number)
    rest = program.outputs[len(updates) :]
    program = replace(program, outputs=(*[program.outputs[index] for index in order], *rest))
    bound = [*arguments, *variables, *constants]
    outputs = captured.outputs
    return with_inputs(program, bound), StepBinding(
        inputs=tuple([inputs[number] for number in bound]),
        arguments=_sources(inputs, arguments),
        variables=_sources(inputs, variables),
        changed=changed,
        write_only=_sources(inputs, replaced[changed:]),
        constants=_sources(inputs, constants),
        written=outputs.written,
        written_variables={id(one.source): one.source for one in inputs if one.is_written},
        gradients=outputs.gradients,
        results=outputs.results,
        structure=outputs.structure,
        called=captured.called,
        names={
            id(step_input.source): step_input.name
            for step_input in inputs
            if step_input.kind not in ("argument", "constant")
        },
        attributes=captured.attributes,
        guarded_dicts=captured.guarded_dicts,
    )


def _sources(inputs: tuple[StepInput, ...], numbers: list[int]) -> tuple[Any, ...]:
    return tuple([inputs[number].source for number in numbers])
