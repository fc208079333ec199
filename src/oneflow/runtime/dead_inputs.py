"""Inputs of a recorded program whose tensors have been overwritten: memory that only it holds."""

from __future__ import annotations

import sys
from typing import Any

from oneflow.base.device import Device
from oneflow.program.recorder import Recorder
from oneflow.program.value import Value

# Bytes of inputs from which on it is looked who still has them.
MANY_BYTES = 1 << 28
# The multiple of the bytes of its results from which on they are a waste. A training step's
# parameters, their gradients and two moments are overwritten by three of their size.
_FACTOR = 4


def reference_counts(objects: list[Any]) -> list[int]:
    """The reference count of each object of a list."""
    return [sys.getrefcount(item) for item in objects]


# The count of an array that only the recorder's list holds; it differs between Python versions.
_NO_OTHER_REFERENCE = reference_counts([object()])[0]


def dead_inputs(recorder: Recorder) -> list[int]:
    """The indices of the inputs that only the recorder has."""
    counts = reference_counts(recorder.arrays)
    return [index for index, count in enumerate(counts) if count == _NO_OTHER_REFERENCE]


def wastes_memory(recorder: Any, value: Value) -> bool:
    """Return whether what only the recorder has is much, and much more than its results.

    So it is in a loop that overwrites a large tensor and reads nothing.

    Args:
        recorder: one of eager programs, which counts the bytes of its inputs.
        value: its next input.
    """
    recorder.input_bytes -= value.spec.nbytes
    if recorder.input_bytes >= 0 or not isinstance(recorder.device, Device) or recorder.closed:
        return False
    recorder.input_bytes = MANY_BYTES
    dead = sum(_nbytes(recorder.arrays[index]) for index in dead_inputs(recorder))
    return dead > MANY_BYTES // 2 and dead > _FACTOR * _result_bytes(recorder)


def _result_bytes(recorder: Recorder) -> int:
    """The bytes of the results that somebody still has."""
    values = [reference() for reference in list(recorder.outputs)]
    return sum(value.spec.nbytes for value in values if value is not None)


def _nbytes(array: Any) -> int:
    """The bytes of an input: an array of JAX's, or one that waits on the host."""
    return getattr(array, "nbytes", 0) or getattr(getattr(array, "numbers", None), "nbytes", 0)
