"""Recovery from a failed program: tensors that it would have written get their old values back."""

from __future__ import annotations

from typing import Any

from oneflow.passes.pipeline import PassGroup, run_passes
from oneflow.program.ir import program_from_key
from oneflow.program.recorder import Recorder, Replacement
from oneflow.program.value import Value
from oneflow.runtime.cold import FailedResult, run_cold
from oneflow.runtime.lazy_array import HostArray


def restore_replaced(recorder: Recorder, to_start: bool = False) -> None:
    """Give tensors whose new values could not be computed their old ones.

    Args:
        recorder: what was recorded.
        to_start: those before the program; otherwise what the part of it wrote that can run.
    """
    by_position = {replacement.position: replacement for replacement in recorder.rollback.replaced}
    for replacement in recorder.rollback.replaced:
        value = replacement.new()
        if value is None or value.array is not None:
            continue
        array = _array_before(recorder, replacement, by_position, to_start)
        if array is None:
            continue
        if isinstance(array, HostArray):
            array.add_alias(value)
            value.recorder = array
        else:
            value.array = array
            value.recorder = None
        if replacement.invalidate is not None:
            replacement.invalidate()


def _array_before(
    recorder: Recorder,
    replacement: Replacement,
    by_position: dict[int, Replacement],
    to_start: bool,
) -> Any:
    """The latest content before a replacement that is known or can be computed, or None.

    It can be a `HostArray`.
    """
    step: Replacement | None = replacement
    while step is not None:
        old = step.old
        if isinstance(old, Value):
            return old.recorder if isinstance(old.recorder, HostArray) else old.array
        if not isinstance(old, int):
            return old
        if old < 0:
            return recorder.arrays[~old]
        array = None if to_start and old in by_position else _compute(recorder, old)
        if array is not None:
            return array
        step = by_position.get(old)
    return None


def _compute(recorder: Recorder, position: int) -> Any:
    """The array of one output, or None if it cannot be computed."""
    program = program_from_key(tuple(recorder.key), (position,), recorder.rollback.updated)
    program = run_passes(program, PassGroup.PROGRAM)
    ((array,), _) = run_cold(program, recorder.arrays, recorder.scalars)
    return None if type(array) is FailedResult else array
