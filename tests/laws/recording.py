"""The instructions that samples record, with their operands: nothing runs until asked for."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from oneflow.base.x64 import in_x64
from oneflow.compiler.lower import typed_scalar
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import Primitive
from oneflow.program.ir import Instruction, program_from_key
from oneflow.program.recorder import Recorder
from oneflow.runtime import eager
from tests.laws.layer_calls import calls
from tests.oracle import FLOW, differentiated, input_values
from tests.samples.table import Case, Operator, operators

_MAX_CASES = 5
# Marks the laws of recorded programs: one process records them, and holds them. They have JAX
# compute operations themselves.
of_recorded_programs = [
    pytest.mark.xdist_group("recorded_programs"),
    pytest.mark.usefixtures("jax_x64"),
]
# Compiler options for executables that run once: most of the time goes into compiling.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class RecordedProgram:
    """The program that was recorded up to a flush.

    Attributes:
        program: what was recorded; it returns nothing.
        instructions: in order.
        inputs: arrays and numbers that it starts from.
    """

    def __init__(self, recorder: Recorder) -> None:
        program = program_from_key(recorder.key, [])
        numbers = [
            typed_scalar(number, spec.dtype.numpy)
            for number, spec in zip(recorder.scalars, program.scalars, strict=True)
        ]
        self.program = program
        self.instructions = program.instructions
        self.inputs = [np.asarray(input_values(array)) for array in recorder.arrays] + numbers
        self._makers = {
            n: instruction for instruction in program.instructions for n in instruction.results
        }

    @in_x64
    def operands(self, instruction: Instruction, inputs: Sequence[Any]) -> list:
        """The operands of an instruction when the program starts from `inputs`, maybe tracers."""
        known = dict(enumerate(inputs))

        def value(number: int) -> Any:
            if number not in known:
                maker = self._makers[number]
                results = maker.operation.evaluate(*map(value, maker.operands))
                results = (results,) if maker.operation.single else results
                known.update(zip(maker.results, results, strict=True))
            return known[number]

        return [value(number) for number in instruction.operands]


@contextlib.contextmanager
def recording() -> Iterator[list[RecordedProgram]]:
    """Collects what is recorded inside; what nobody reads inside never runs."""
    eager.flush_all("sync")
    programs: list[RecordedProgram] = []
    run = eager.run_recorder

    def keep_and_run(recorder: Recorder, reason: str) -> None:
        if not recorder.closed:
            programs.append(RecordedProgram(recorder))
        run(recorder, reason)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eager, "run_recorder", keep_and_run)
        yield programs
        for recorder in list(eager.current.recorders.values()):
            if not recorder.closed:
                programs.append(RecordedProgram(recorder))
                recorder.close()


def record(call: Callable[[], Any]) -> list[RecordedProgram]:
    """The programs that a call records."""
    with recording() as programs:
        call()
    return programs


@functools.cache
def recorded_programs() -> list[RecordedProgram]:
    """The programs of the operator table and of the calls of `layer_calls`."""
    return list(itertools.chain(_record_samples(), *map(record, calls())))


def _record_samples() -> Iterator[RecordedProgram]:
    """The programs of the operator table: results and first gradients.

    Several samples of a row in its main dtype, the first one in one dtype of each other kind too.
    """
    for _, row in operators():
        kinds = set()
        for dtype in (*row.gradient_dtypes, *row.dtypes):
            kind = dtype.rstrip("0123456789").lstrip("ub")
            if kind not in kinds:
                for case in row.cases[: 1 if kinds else _MAX_CASES]:
                    yield from _record_sample(row, case, dtype)
            kinds.add(kind)


def _record_sample(row: Operator, case: Case, dtype: str) -> list[RecordedProgram]:
    """The programs that a sample records; one that is refused records what came before."""
    with recording() as programs:
        has_gradients = dtype in row.gradient_dtypes
        arguments = FLOW.arguments(case, dtype, "", with_grad=has_gradients)
        with contextlib.suppress(Exception):
            if has_gradients:
                differentiated(FLOW, row, arguments, "", 1)
            else:
                FLOW.function(row)(*arguments.args, **arguments.kwargs)
    return programs


def source_of(operation: Operation) -> Primitive:
    """The primitive of an operation, or the one that it is the gradient of."""
    primitive = operation.primitive
    while primitive.vjp_of is not None:
        primitive = primitive.vjp_of
    return primitive
