"""`bind`: what calling a primitive means. Every operator of every user program passes through it.

This is the hottest code of the package: about a microsecond a call. The common cases, one or two
operands and one result, are written out; the rest goes through the loops at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.base.dtype import real_dtype
from oneflow.base.hook import Hook
from oneflow.base.location import user_line
from oneflow.base.placement import Placement
from oneflow.differentiation.grad_mode import INFERENCE_MODE_CHANGED, MODE
from oneflow.differentiation.node import add_node
from oneflow.dispatch.global_call import GlobalCall, resolve_call
from oneflow.dispatch.operand_casts import CASTING, CASTS
from oneflow.primitives.operation import Operation, make_operation
from oneflow.primitives.operators.complex import complex_
from oneflow.primitives.operators.creation import full_float
from oneflow.primitives.registry import BIND, Primitive
from oneflow.primitives.traits import Kind
from oneflow.program.captured_number import CapturedNumber, Seed
from oneflow.program.recorder import Recorder
from oneflow.program.update_number import UpdateNumber
from oneflow.program.value import INFERENCE, Value, ValueOfClass
from oneflow.runtime.dead_inputs import reference_counts
from oneflow.runtime.eager import current, recorder_for
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.early_checks import raise_early
from oneflow.runtime.small_programs import SMALL_PROGRAMS, SMALL_STEPS

#: The result of a primitive of values that are no arrays.
BIND_OF_CLASS: Hook[Callable[[Primitive, tuple, dict[str, Any]], Any]] = Hook(
    "primitives of wrapper tensors", "oneflow.tensor.python_dispatch"
)
# The operations by primitive, specs and types of the operands, and attributes.
_operations: dict[tuple[Any, ...], Operation] = {}
find_operation = _operations.get
# Tables that have operations, by shorter keys or in keys; emptied before unused ones are evicted.
OPERATION_TABLES: list[dict[Any, Any]] = [SMALL_PROGRAMS, SMALL_STEPS]
_NUMBERS = (bool, int, float, CapturedNumber, Seed, UpdateNumber)
# Run-time checks after which a recorder is flushed. So many come from a loop that writes single
# elements, whose next turns are the same program; XLA takes minutes for some hundred writes to
# elements of one array.
_MAX_CHECKS = 128


def bind(primitive: Primitive, operands: tuple[Any, ...], attributes: dict[Any, Any]) -> Any:
    """Record `primitive` applied to values and Python numbers.

    Returns:
        A `Value`, or a tuple of them for several outputs. Nothing has run yet.
    """
    if CASTING:
        for cast in CASTS.functions:
            operands = cast(primitive, operands)
    # A number's entry in the key is its type: its value is a run-time input.
    if len(operands) == 2:
        x, y = operands
        key = (
            primitive,
            x.spec if type(x) is Value else type(x),
            y.spec if type(y) is Value else type(y),
        )
    elif len(operands) == 1:
        x = operands[0]
        key = (primitive, x.spec if type(x) is Value else type(x))
    else:
        key = (primitive, *[x.spec if type(x) is Value else type(x) for x in operands])
    if attributes:
        key += tuple(attributes.items())
    operation = _operations.get(key)
    if operation is None:
        if any(type(x) is not Value and type(x) not in _NUMBERS for x in operands):
            return _evaluate(primitive, operands, attributes)
        plain = {name: plain_attribute(value) for name, value in attributes.items()}
        if any(plain[name] is not attributes[name] for name in plain):
            return bind(primitive, operands, plain)
        operation = _operations.setdefault(key, _new_operation(primitive, operands, attributes))

    return record(operation, operands)


def record(operation: Any, operands: tuple[Any, ...]) -> Any:
    """Record an operation that is known: what `bind` returns."""
    recorder = current.recorder
    if recorder is None or recorder.device is not operation.device:
        recorder = recorder_for(operation.device, user_line)
    if not operation.simple:
        return _record_general(operation, operands, recorder)
    while (result := recorder.append(operation, operands)) is None:  # most often it is closed
        recorder = recorder_for(operation.device, user_line)
    for x in operands:
        if type(x) is Value and x.node is not None:
            if operation.differentiable and MODE.enabled:
                add_node(operation, operands, result)
            break
    if recorder.end >= SETTINGS.slow_path_at:
        _check_limits(recorder, (result,))
    return result


def cached_operation(primitive: Primitive, operands: tuple, attributes: dict[Any, Any]) -> Any:
    """The operation of a call that `bind` has recorded before; None if there is none."""
    specs = [x.spec if type(x) is Value else type(x) for x in operands]
    return _operations.get((primitive, *specs, *attributes.items()))


def _check_limits(recorder: Any, results: tuple[Value, ...]) -> None:
    """Mark what inference mode made, and run the program when it is long."""
    if MODE.inference:
        for result in results:
            result.stale = INFERENCE
    if len(recorder.outputs) >= SETTINGS.limit or len(recorder.checked) >= _MAX_CHECKS:
        recorder.flush("limit")


def _new_operation(primitive: Primitive, operands: tuple, attributes: dict) -> Any:
    """The operation, or the `GlobalCall` around it."""
    if len(_operations) >= _cache.max_size:
        _evict_unused()
    specs = tuple([x.spec if type(x) is Value else x for x in operands])
    operation = make_operation(primitive, specs, attributes)
    if not isinstance(operation.device, Placement) or primitive.traits.kind is Kind.TRANSFER:
        return operation
    return resolve_call(operation, specs, attributes)


class _OperationCache:
    """The number of interned operations from which on unused ones are evicted."""

    max_size = 1 << 14


_cache = _OperationCache()
# References to an operation that is known and listed, and to nothing else.
_UNUSED = 1 + reference_counts([object()])[0]


def _evict_unused() -> None:
    """Evict operations that neither a program nor a node has; new shapes bring ever new ones."""
    for table in OPERATION_TABLES:
        table.clear()
    pairs = list(_operations.items())
    keys, operations = [key for key, _ in pairs], [operation for _, operation in pairs]
    del pairs
    counts = reference_counts(operations)
    for key, operation, count in zip(keys, operations, counts, strict=True):
        # Its rules for the backward pass refer to it.
        if count - len(getattr(operation, "backward_rules", ())) <= _UNUSED:
            _operations.pop(key, None)
    _cache.max_size = max(_cache.max_size, len(_operations) * 3 // 2)


def _record_general(operation: Any, operands: tuple, recorder: Recorder) -> Any:
    """Record an operation that has several outputs, a run-time check or parts to convert."""
    if isinstance(operation, GlobalCall):
        return operation.record(operands)
    if operation.needs_check:
        raise_early(operation, operands)
    if recorder.closed:
        recorder = recorder_for(operation.device, user_line)
    while (result := recorder.record(operation, operands)) is None:
        recorder = recorder_for(operation.device, user_line)
    if operation.differentiable and MODE.enabled:
        for x in operands:
            if type(x) is Value and x.node is not None:
                add_node(operation, operands, result)
                break
    if len(recorder.outputs) >= SETTINGS.slow_path_at or len(recorder.checked) >= _MAX_CHECKS:
        _check_limits(recorder, (result,) if operation.single else result)
    return result


def _with_tensors(primitive: Primitive, operands: tuple) -> tuple:
    """Operands with tensors of 0 dimensions in place of complex numbers.

    Raises:
        RuntimeError: no tensor among them is complex.
    """
    spec = next((x.spec for x in operands if type(x) is Value and x.spec.dtype.is_complex), None)
    if spec is None:
        number = next(x for x in operands if type(x) is complex)
        raise RuntimeError(f"`{primitive.name}` of real tensors cannot take the number {number}")
    part = {"shape": (), "dtype": real_dtype(spec.dtype), "device": spec.device}
    return tuple(
        complex_(full_float(x.real, **part), full_float(x.imag, **part))
        if type(x) is complex
        else x
        for x in operands
    )


def plain_attribute(value: Any) -> Any:
    """Return an attribute with Python numbers for NumPy's scalars and tensors without dimensions.

    An attribute without such values is returned itself.
    """
    if type(value) is tuple:
        plain = tuple([plain_attribute(item) for item in value])
        same = all(new is old for new, old in zip(plain, value, strict=True))
        return value if same else plain
    return value.item() if hasattr(value, "item") and not getattr(value, "ndim", 1) else value


def _evaluate(primitive: Primitive, operands: tuple, attributes: dict) -> Any:
    """Primitives inside another primitive's implementation get arrays and simply run on them.

    Complex numbers are brought into tensors first, and NumPy's scalars are Python's numbers.
    """
    if any(isinstance(x, ValueOfClass) for x in operands):
        return BIND_OF_CLASS.value(primitive, operands, attributes)
    if any(type(x) is complex for x in operands):
        return bind(primitive, _with_tensors(primitive, operands), attributes)
    numbers = tuple([x.item() if isinstance(x, np.generic) else x for x in operands])
    if all(type(x) is Value or type(x) in _NUMBERS for x in numbers):
        return bind(primitive, numbers, attributes)
    wrong = [x for x in operands if not hasattr(x, "dtype") and type(x) not in _NUMBERS]
    if any(type(x) is Value for x in operands):
        # Called with tensors: arrays among them are wrong, too.
        wrong = [x for x in operands if type(x) is not Value and type(x) not in _NUMBERS]
    if wrong:
        kind = type(wrong[0]).__name__
        raise TypeError(f"`{primitive.name}` takes tensors and numbers, got {kind}")
    attributes = {name: value for name, value in attributes.items() if name != "device"}
    return primitive.impl(*operands, **attributes)


BIND.fill(bind)
INFERENCE_MODE_CHANGED.fill(lambda is_on: SETTINGS.count_inference(1 if is_on else -1))
