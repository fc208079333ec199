"""Channels last: on the CPU, keep activations stored ``[N, spatial..., C]`` between convolutions.

Users see ``[N, C, spatial...]``; XLA's convolutions, reductions over channels and window operations
are faster on the other order. An operation whose primitive gains enough from it (a convolution)
has its activations converted; operations that can work on either order follow as long as one of
their operands is converted; everything else gets its operands converted back. A primitive states
its needs by the trait `channels_last`; elementwise primitives need nothing but equal ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oneflow.passes.program_builder import ProgramBuilder, operation_of
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.channels_last import ChannelsLast, to_first, to_last
from oneflow.primitives.operators.shape import transpose
from oneflow.program.ir import Instruction, Program


def move_channels_last(program: Program) -> Program:
    """Return the program with activations stored channels last where that is faster."""
    if not any(_is_preferred(instruction.operation) for instruction in program.instructions):
        return program
    return _ChannelsLastBuilder(program).run()


def _is_preferred(operation: Operation) -> bool:
    form = _form(operation)
    return form is not None and form.preferred


def _form(operation: Operation) -> ChannelsLast | None:
    """The form in which `operation` runs channels last, or None if it cannot."""
    if operation.device.type != "cpu":
        return None
    rule = operation.primitive.traits.channels_last
    if rule is not None:
        return rule(operation)
    return _elementwise_form(operation) if operation.primitive.elementwise else None


def _elementwise_form(operation: Operation) -> ChannelsLast | None:
    """The form of an elementwise operation: its operands have one rank, or are numbers."""
    ndim = operation.out_specs[0].ndim
    if ndim < 3 or any(spec.ndim not in (0, ndim) for spec in operation.in_specs):
        return None
    is_conversion = tuple(spec.ndim == ndim for spec in operation.in_specs)
    return ChannelsLast(is_conversion, (True,) * operation.count, operation.attributes)


class _ChannelsLastBuilder(ProgramBuilder):
    """One program being rewritten.

    Values of the old program may exist in both orders in the new one: in the users' order as
    `new`, and channels last.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._last: dict[int, int] = {}

    def run(self) -> Program:
        """Return the rewritten program."""
        for instruction in self.old.instructions:
            form = _form(instruction.operation)
            if form is not None and self._should_convert(form, instruction.operands):
                self._convert(instruction, form)
            else:
                for number in instruction.operands:
                    self._in_first(number)
                self.copy(instruction)
        for number in self.old.outputs:
            self._in_first(number)
        return self.program()

    def _should_convert(self, form: ChannelsLast, operands: Sequence[int]) -> bool:
        return form.preferred or any(
            is_conversion and number in self._last
            for is_conversion, number in zip(form.operands, operands, strict=True)
        )

    def _convert(self, instruction: Instruction, form: ChannelsLast) -> None:
        """Append `instruction` in its channels-last form."""
        operands = [
            self._in_last(number) if is_conversion else self._in_first(number)
            for is_conversion, number in zip(form.operands, instruction.operands, strict=True)
        ]
        old = instruction.operation
        specs = tuple(self.specs[number] for number in operands)
        converted = operation_of(
            old.primitive, specs, old.is_scalar, tuple(form.attributes.items())
        )
        results = self.append(converted, operands, instruction.scope)
        for number, result, is_last in zip(instruction.results, results, form.results, strict=True):
            (self._last if is_last else self.new)[number] = result

    def _in_first(self, number: int) -> int:
        """The value in the users' order, converted if it is not there yet."""
        if number not in self.new:
            self.new[number] = self._transposed(self._last[number], to_first)
        return self.new[number]

    def _in_last(self, number: int) -> int:
        """The value channels last, converted if it is not there yet."""
        if number not in self._last:
            self._last[number] = self._transposed(self.new[number], to_last)
        return self._last[number]

    def _transposed(self, number: int, order: Callable[[int], tuple[int, ...]]) -> int:
        spec = self.specs[number]
        operation = operation_of(transpose, (spec,), (False,), (("perm", order(spec.ndim)),))
        return self.append(operation, [number], "")[0]
