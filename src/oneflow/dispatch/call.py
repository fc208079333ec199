"""`bind`: what calling a primitive means. Every operator of every user program passes through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.autograd.grad_mode import MODE
from oneflow.autograd.node import OperationNode
from oneflow.dispatch.location import user_line
from oneflow.primitives.operation import Operation, make_operation
from oneflow.primitives.registry import Primitive, install_interpreter
from oneflow.program.value import Value
from oneflow.runtime.eager import SETTINGS, current, recorder_for

_operations: dict[tuple, Operation] = {}
_NUMBERS = (bool, int, float)
# Functions `(primitive, operands) -> operands` run before resolution: automatic mixed precision adds one.
operand_casts: list[Callable[[Primitive, tuple], tuple]] = []


def bind(primitive: Primitive, operands: tuple, attributes: dict) -> Any:
    """Record `primitive` applied to values and Python numbers.

    Returns:
        A `Value`, or a tuple of them for several outputs. Nothing has run yet.
    """
    for cast in operand_casts:
        operands = cast(primitive, operands)
    key = (
        primitive,
        *[o.spec if type(o) is Value else type(o) for o in operands],
        *attributes.items(),
    )
    operation = _operations.get(key)
    if operation is None:
        if any(type(o) is not Value and type(o) not in _NUMBERS for o in operands):
            return _evaluate(primitive, operands, attributes)
        specs = tuple([o.spec if type(o) is Value else o for o in operands])
        operation = _operations[key] = make_operation(primitive, specs, attributes)
    recorder = current.recorder
    if recorder is None or recorder.closed or recorder.device is not operation.device:
        recorder = recorder_for(operation.device, user_line)
    outputs = recorder.record(operation, operands)
    if operation.differentiable and MODE.enabled:
        for operand in operands:
            if type(operand) is Value and operand.node is not None:
                OperationNode(operation, operands, outputs)
                break
    if recorder.count >= SETTINGS.limit:
        recorder.flush("limit")
    return outputs


def _evaluate(primitive: Primitive, operands: tuple, attributes: dict) -> Any:
    """Primitives inside another primitive's implementation get arrays and simply run on them."""
    for operand in operands:
        if (
            not hasattr(operand, "dtype")
            and type(operand) not in _NUMBERS
            or type(operand) is Value
        ):
            raise TypeError(
                f"`{primitive.name}` takes tensors and numbers, got {type(operand).__name__}"
            )
    attributes = {name: value for name, value in attributes.items() if name != "device"}
    return primitive.impl(*operands, **attributes)


install_interpreter(bind)
