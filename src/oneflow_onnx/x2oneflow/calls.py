"""`call`, `loop` and `scan`: ONNX's operators, for generated code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import oneflow as flow
import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow_onnx.x2oneflow.execution import run_node
from oneflow_onnx.x2oneflow.operators.control_flow import repeat, scan_slices
from oneflow_onnx.x2oneflow.prepared_graph import GraphPreparer, NodeCall
from oneflow_onnx.x2oneflow.values import Value, has_shape, zeros

_LoopStep = Callable[[Sequence[Value]], list[Value]]


def call(
    name: str, opset: int, *operands: Value, domain: str = "", outputs: int = 1, **attributes: Any
) -> Any:
    """Return the result of an ONNX operator, or a tuple of several.

    Args:
        name: the operator's name.
        opset: the version of the operator set.
        operands: tensors, host values, sequences, or None for one that is left out.
        domain: the operator's domain.
        outputs: how many results are wanted.
        attributes: as the operator defines them; tensors as arrays.

    Example:
        >>> import oneflow as flow
        >>> from oneflow_onnx.x2oneflow.calls import call
        >>> call("Celu", 12, flow.tensor([1.0, 2.0]), alpha=2.0).tolist()
        [1.0, 2.0]
    """
    present = tuple(value is not None for value in operands)
    items = tuple((key, _Attribute(value)) for key, value in sorted(attributes.items()))
    node_call = _node_call(name, opset, domain, present, outputs, items)
    names = [key for key in node_call.node.input if key]
    values = (value for value in operands if value is not None)
    results = run_node(node_call, dict(zip(names, values, strict=True)), training=False)
    return results[0] if outputs == 1 else tuple(results)


def loop(
    body: Callable[..., Any],
    trips: Value,
    condition: Value,
    carried: Sequence[Value],
    around: Sequence[Value] = (),
    rows: int = 0,
) -> Any:
    """Return the results of ONNX's `Loop`, a tuple of several.

    Args:
        body: called with the number of the step, the condition, the carried values and those
            `around`; returns the next condition, the next values, and rows.
        trips: the most steps; None: no limit.
        condition: whether to take the first step; None: it is taken.
        carried: the values before the first step.
        around: what the body reads besides.
        rows: how many rows a step gives.

    Example:
        >>> from oneflow_onnx.x2oneflow.calls import loop
        >>> loop(lambda step, go_on, x, y: (go_on, x * y), 3, None, [1.0], [2.0])
        8.0
    """
    examples = _examples(body, around, rows)
    results = repeat(_step(body, around), trips, condition, carried, rows, examples)
    return results[0] if len(results) == 1 else results


def scan(
    body: Callable[..., Any],
    state: Sequence[Value],
    scan_inputs: Sequence[Value],
    around: Sequence[Value] = (),
    rows: int = 0,
    **attributes: Any,
) -> Any:
    """Return the results of ONNX's `Scan`, a tuple of several.

    Args:
        body: called with the state, one slice of each value `scan_inputs`, and the values `around`;
            returns the next state, and rows.
        state: the state before the first step.
        scan_inputs: tensors of which each step gets one slice.
        around: what the body reads besides.
        rows: how many rows a step gives.
        attributes: axes and directions, as ONNX names them.

    Example:
        >>> import oneflow as flow
        >>> from oneflow_onnx.x2oneflow.calls import scan
        >>> scan(lambda total, x: total + x, [flow.tensor(0)], [flow.tensor([1, 2, 3])]).item()
        6
    """
    step, examples = _step(body, around), _examples(body, around, rows)
    results = scan_slices(step, state, scan_inputs, rows, **attributes, examples=examples)
    return results[0] if len(results) == 1 else results


def _step(body: Callable[..., Any], around: Sequence[Value]) -> _LoopStep:
    """The body as a function of the values that change."""
    return lambda values: _as_list(body(*values, *around))


def _examples(body: Callable[..., Any], around: Sequence[Value], rows: int) -> _LoopStep:
    """A function that takes one step for its rows; only their types matter."""

    def rows_like(values: Sequence[Value]) -> list[Value]:
        operands = [*values, *around]
        with flow.no_grad():
            try:
                return _as_list(body(*operands))[-rows:]
            except (IndexError, RuntimeError):
                # The step reads the first of no rows. Sizes that do not depend on their number are
                # the same for one and for two; the others are 0.
                one, two = (_as_list(body(*_filled(operands, size))) for size in (1, 2))
        return [_common(*both) for both in zip(one[-rows:], two[-rows:], strict=True)]

    return rows_like


def _filled(values: Sequence[Value], size: int) -> list[Value]:
    """The values, zeros of a size in place of 0 for those that are empty."""
    return [
        zeros([dim or size for dim in value.shape], value)
        if has_shape(value) and 0 in value.shape
        else value
        for value in values
    ]


def _common(one: Value, two: Value) -> Value:
    """Zeros with the sizes that two values agree on, and 0 for the others."""
    pairs = zip(one.shape, two.shape, strict=True)
    return zeros([a if a == b else 0 for a, b in pairs], one)


def _as_list(result: Any) -> list[Value]:
    return list(result) if isinstance(result, tuple) else [result]


class _Attribute:
    """The value of an attribute as part of a key."""

    def __init__(self, value: Any) -> None:
        is_array = isinstance(value, np.ndarray)
        self.value: Any = numpy_helper.from_array(value) if is_array else value
        self._key = self.value.SerializeToString() if is_array else repr(value)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Attribute) and self._key == other._key


@functools.lru_cache(maxsize=4096)
def _node_call(
    name: str,
    opset: int,
    domain: str,
    present: tuple[bool, ...],
    outputs: int,
    attributes: tuple[tuple[str, _Attribute], ...],
) -> NodeCall:
    inputs = [f"x{index}" if is_given else "" for index, is_given in enumerate(present)]
    values: dict[str, Any] = {key: attribute.value for key, attribute in attributes}
    results = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(name, inputs, results, domain=domain, **values)
    model = onnx.ModelProto(opset_import=[helper.make_opsetid(domain, opset)])
    return GraphPreparer(model).prepare_call(node)
