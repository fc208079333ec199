"""Arithmetic of single numbers that are on the host: states of loops, and elements of arrays.

Recording such an operation and running it when its result is read takes longer than computing it
at once. It is exact: rounded once to the dtype, as every backend rounds it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from oneflow.base.dtype import DType, float32, float64, int32, int64
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.primitives.operators.elementwise import add, mul, sub
from oneflow.primitives.registry import Primitive
from oneflow.program.value import INFERENCE, Value, new_value
from oneflow.runtime.eager import has_unknown_checks
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor.call import wrap
from oneflow.tensor.reads import is_observed, read_number
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

_FUNCTIONS: dict[Primitive, Callable[[Any, Any], Any]] = {
    add: operator.add,
    sub: operator.sub,
    mul: operator.mul,
}
# The magnitudes of each dtype that are certainly no overflow, and not denormal, which XLA takes
# for 0. Python computes in 64 bits, from which a sum, difference or product of numbers of 32 bits
# is rounded as if it had been exact.
_LIMITS: dict[DType, tuple[float, float]] = {
    float32: (1e-37, 1e38),
    float64: (1e-307, 1e308),
    int32: (0, 2**31 - 1),
    int64: (0, 2**62),
}
# A Python number up to this one is in the range of each of them.
_LARGEST_OPERAND = 2**31 - 1


def compute_on_host(primitive: Primitive, x: Tensor, y: Any) -> Tensor | None:
    """Compute a sum, difference or product of two numbers on the host.

    Args:
        primitive: the operation.
        x: a tensor.
        y: a tensor or Python number.

    Returns:
        The result; None if there is more to it, and it is to be recorded.
    """
    function, spec = _FUNCTIONS.get(primitive), x._value.spec
    if function is None or spec.ndim or (isinstance(y, Tensor) and y._value.spec is not spec):
        return None
    if type(y) is float and spec.dtype not in (float32, float64):
        return None
    if is_observed() or has_unknown_checks():
        return None
    first = number_of(x, spec.dtype)
    second = None if first is None else number_of(y, spec.dtype)
    if first is None or second is None:
        return None
    low, high = _LIMITS[spec.dtype]
    operands = first.item(), second.item()
    result = function(*operands)
    for number in (result, *operands):
        if number and not low <= abs(number) <= high:
            return None
    return wrap(value_on_host(spec, spec.dtype.numpy.type(result)))


def value_on_host(spec: TensorSpec, numbers: Any) -> Value:
    """A value of numbers in the host's memory to which nobody writes."""
    array = HostArray(spec, numbers)
    value = new_value(spec, None, array, 0)
    array.add_alias(value)
    if MODE.inference:
        value.stale = INFERENCE
    return value


def number_of(operand: Any, dtype: DType) -> Any:
    """The number of an operand without dimensions, as NumPy's; None if it is not on the host."""
    if dtype not in _LIMITS:
        return None
    if not isinstance(operand, Tensor):
        is_number = type(operand) in (int, float) and abs(operand) <= _LARGEST_OPERAND
        return dtype.numpy.type(operand) if is_number else None
    if operand._value.spec.ndim:
        return None
    if operand._seen < 0:
        # A write may have given the memory a history.
        return read_number(operand) if operand._family.value.node is None else None
    value = operand._value if operand._family is None else unwrap(operand)
    recorder = value.recorder
    if type(recorder) is not HostArray or value.node is not None:
        return None
    return recorder.numbers[()]
