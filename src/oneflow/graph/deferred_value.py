"""`DeferredValue`: a tensor of a step that the host needs before the step runs."""

from __future__ import annotations

from typing import Any

from oneflow.compiler.lower import Executable
from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.graph.variables import GraphVariables
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.inputs import inputs_read, with_inputs
from oneflow.program.ir import Program, program_from_key
from oneflow.program.value import Value
from oneflow.random.generator import CapturedNumber
from oneflow.tensor.call import wrap
from oneflow.tensor.host_inputs import Values
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class DeferredValue:
    """A tensor that a step computes of its inputs, as the host computes it before each call.

    Args:
        recorder: has recorded the step up to here.
        variables: the tensors that inputs of the step stand for.
        tensor: one that was recorded, or a constant.

    Raises:
        RuntimeError: it depends on random numbers, which the step draws when it runs.
    """

    def __init__(
        self, recorder: CapturingRecorder, variables: GraphVariables, tensor: Tensor
    ) -> None:
        value = unwrap(tensor)
        self._spec, self._variables = value.spec, variables
        reference = recorder.reference(value)
        program = program_from_key(list(recorder.key), [reference], dict(enumerate(recorder.specs)))
        program = eliminate_dead_code(program)
        self._read = sorted(inputs_read(program))
        self._arrays = {number: recorder.arrays[number] for number in self._read}
        self._numbers = _numbers_read(program, recorder)
        self._executable = Executable(
            with_inputs(program, self._read), (), recorder.device, name="deferred_value"
        )

    def __call__(self, values: Values) -> Tensor:
        """Return the tensor as the inputs of a call make it."""
        tensors = {variable.input: variable.tensor for variable in self._variables} | values.inputs
        arrays = [
            self._arrays[number] if number not in tensors else unwrap(tensors[number]).read()
            for number in self._read
        ]
        (array,), _ = self._executable(arrays, self._numbers)
        return wrap(Value(self._spec, array))


def _numbers_read(program: Program, recorder: CapturingRecorder) -> list[Any]:
    """Return the run-time numbers of a part of a step; numbers that it does not read are 0.

    Raises:
        RuntimeError: one of them is drawn anew for each call.
    """
    read = {number for instruction in program.instructions for number in instruction.operands}
    first = len(program.inputs)
    numbers = [
        number if first + slot in read else 0
        for slot, number in enumerate(recorder.scalars[: len(program.scalars)])
    ]
    if any(type(number) is CapturedNumber for number in numbers):
        raise RuntimeError(
            f"{recorder.graph_name}: a lookup needs the values of its ids before the step runs, "
            "and they depend on random numbers that the step draws; draw them outside of `build`"
        )
    return numbers
