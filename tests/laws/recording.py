"""The instructions that sample calls record, with their operands: nothing runs until asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from oneflow.compiler.lower import typed_scalar
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import Primitive
from oneflow.program.ir import Instruction, program_from_key
from oneflow.program.recorder import Recorder
from oneflow.runtime import eager
from tests.oracle import FLOW, with_gradients
from tests.samples.table import Operator, operators


class RecordedProgram:
    """What was recorded up to a flush; evaluates operands when they are asked for."""

    def __init__(self, recorder: Recorder) -> None:
        program = program_from_key(recorder.key, [])
        numbers = [
            typed_scalar(number, spec.dtype.numpy)
            for number, spec in zip(recorder.scalars, program.scalars, strict=True)
        ]
        self.instructions = program.instructions
        self._known = dict(enumerate((*map(np.asarray, recorder.arrays), *numbers)))
        self._maker = {n: each for each in program.instructions for n in each.results}

    def operands(self, instruction: Instruction) -> list[np.ndarray]:
        """The arrays and numbers that an instruction takes."""
        return [self._value(number) for number in instruction.operands]

    def _value(self, number: int) -> np.ndarray:
        if number not in self._known:
            maker = self._maker[number]
            results = maker.operation.evaluate(*self.operands(maker))
            results = (results,) if maker.operation.single else results
            self._known.update(zip(maker.results, map(np.asarray, results), strict=True))
        return self._known[number]


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
                recorder.closed = True


def record(call: Callable[[], Any]) -> list[RecordedProgram]:
    """What a call records; a call that raises records what came before."""
    with recording() as programs, contextlib.suppress(Exception):
        kept = call()  # noqa: F841 - alive until everything is collected
    return programs


def record_samples() -> Iterator[RecordedProgram]:
    """The programs of the operator table: results and gradients, of second order if a row has them.

    All samples of a row in its main dtype, the first one in one dtype of each other kind too.
    """
    for _, row in operators():
        kinds = set()
        for dtype in (*row.gradient_dtypes, *row.dtypes):
            kind = dtype.rstrip("0123456789").lstrip("ub")
            if kind not in kinds:
                yield from _row_programs(row, dtype, cases=1 if kinds else len(row.cases))
            kinds.add(kind)


def _row_programs(row: Operator, dtype: str, cases: int) -> Iterator[RecordedProgram]:
    for index, case in enumerate(row.cases[:cases]):
        if dtype in row.gradient_dtypes:
            order = 2 if row.second_grad and not index else 1
            yield from record(
                lambda case=case, order=order: with_gradients(FLOW, row, case, dtype, "", order)
            )
        else:
            arguments = FLOW.arguments(case, dtype, "")
            yield from record(
                lambda arguments=arguments: FLOW.function(row)(*arguments.args, **arguments.kwargs)
            )


def source_of(operation: Operation) -> Primitive:
    """The primitive of an operation, or the one that it is the gradient of."""
    primitive = operation.primitive
    while "vjp_of" in primitive.facts:
        primitive = primitive.facts["vjp_of"]
    return primitive
