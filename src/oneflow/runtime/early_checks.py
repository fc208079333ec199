"""Run-time checks at the call, for a program of PyTorch, which expects its errors there.

``try: x[index]`` catches nothing when the check runs later. A check is cheap where the host has the
numbers that it looks at, or computes them in some microseconds; a call never waits for a program.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.compiler.lower import typed_scalar
from oneflow.interpreter.numpy_function import NumpyFunction, numpy_function_of
from oneflow.primitives.inference import trace_check
from oneflow.primitives.operation import Operation
from oneflow.program.value import Value
from oneflow.runtime import checks
from oneflow.runtime.eager import current, is_capturing
from oneflow.runtime.lazy_array import HostArray
from oneflow.runtime.small_programs import small_value

_MAX_OPERATIONS = 2048
# Elements of an operand; more take longer to look at than to record.
_MAX_ELEMENTS = 1 << 12


def raise_early(operation: Operation, operands: Sequence[Any]) -> None:
    """Raise the error of an operation's check if numbers that the host has, or soon has, fail it.

    Args:
        operation: one that has a check.
        operands: values and Python numbers.

    Raises:
        Exception: the check's own.
    """
    if program_name() != PYTORCH or is_capturing():
        return
    if not all(spec.numel for spec in operation.out_specs):
        return  # no element is taken, and PyTorch looks at no position
    function, places = _check_function(operation)
    if function is None:
        return
    arrays: list[Any] = [None] * len(operands)
    for place in places:
        arrays[place] = _numbers_on_host(operands[place], operation.in_specs[place])
        if arrays[place] is None:
            return
    with np.errstate(all="ignore"):
        bad, value = function(*arrays)
    if bad:
        raise operation.primitive.check_error(int(value), operation.attributes, operation.in_specs)


@functools.lru_cache(maxsize=_MAX_OPERATIONS)
def _check_function(operation: Operation) -> tuple[NumpyFunction | None, tuple[int, ...]]:
    """A check on NumPy, and the positions of the operands whose numbers it looks at."""
    trace = trace_check(operation)
    used = {id(operand) for equation in trace.jaxpr.eqns for operand in equation.invars}
    places = tuple(place for place, operand in enumerate(trace.jaxpr.invars) if id(operand) in used)
    shapes = [getattr(operation.in_specs[place], "shape", ()) for place in places]
    if any(math.prod(shape) > _MAX_ELEMENTS for shape in shapes):
        return None, ()
    return numpy_function_of(trace), places


def _numbers_on_host(operand: Any, spec: Any) -> Any:
    """The numbers of an operand; None if they are elsewhere, or take long to compute."""
    if type(operand) is not Value:
        return typed_scalar(operand, spec.dtype.numpy)
    array: Any = operand.array
    if array is None:
        recorder: Any = operand.recorder
        if type(recorder) is HostArray:
            return recorder.numbers
        is_own = current.recorders.get(spec.device) is recorder
        return small_value(operand) if is_own and not recorder.closed else None
    if not isinstance(array, jax.Array) or operand.spec.device.type != "cpu":
        return None
    local: Any = array
    if local.is_deleted() or not local.is_ready():
        return None
    checks.inherit((array,))
    return np.asarray(array)
