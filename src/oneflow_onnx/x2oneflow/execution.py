"""The execution of prepared graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow_onnx.x2oneflow.prepared_graph import NodeCall, PreparedGraph
from oneflow_onnx.x2oneflow.reference import reference_evaluator
from oneflow_onnx.x2oneflow.registry import Evaluation
from oneflow_onnx.x2oneflow.subgraph_types import example_outputs
from oneflow_onnx.x2oneflow.values import (
    MOST_ELEMENTS,
    Value,
    as_host,
    as_tensor,
    check_host_operands,
    check_size,
    fits_tensor,
    has_shape,
)

# Large results with so many times the elements of the operands come from no network.
_MOST_GROWTH = 1024


def run_prepared(
    prepared: PreparedGraph, values: Mapping[str, Value], training: bool
) -> list[Value]:
    """Execute `prepared` and return its outputs.

    Args:
        prepared: what to execute.
        values: the graph's inputs, and what it reads from around it, by name.
        training: the mode of the module.
    """
    environment: dict[str, Value] = {**prepared.constants, **values}
    for call, dead in zip(prepared.calls, prepared.dead_after, strict=True):
        try:
            results = run_node(call, environment, training)
        except NodeError:
            raise
        except Exception as error:
            raise NodeError.of(call, error) from error
        environment.update((n, v) for n, v in zip(call.node.output, results, strict=False) if n)
        for name in dead:
            environment.pop(name, None)
    # The body of a function need not make the outputs that a call does not ask for.
    return [environment.get(name) for name in prepared.outputs]


class NodeError(RuntimeError):
    """An error inside a node of the model; the message names the node."""

    @classmethod
    def of(cls, call: NodeCall, error: Exception) -> NodeError:
        """Return an error about `call`, whose class also derives from the class of `error`."""
        kind = UnsupportedNodeError if isinstance(error, NotImplementedError) else cls
        text = str(error) or type(error).__name__
        # NumPy says the last as a ValueError.
        too_large = isinstance(error, MemoryError | OverflowError) or "array is too big" in text
        if too_large and not isinstance(error, flow.OutOfMemoryError):
            text = f"a size is larger than this machine can hold: {text}"
        return kind(f"in node {call.label}: {text}")


class UnsupportedNodeError(NodeError, NotImplementedError):
    """A node of the model needs something that is not supported."""


def run_node(call: NodeCall, environment: dict[str, Value], training: bool) -> Sequence[Value]:
    """Return the results of one call, whose operands are in `environment` by name."""
    operands = [environment[name] if name else None for name in call.node.input]
    while operands and operands[-1] is None:
        operands.pop()
    if call.operator is None:
        return _run_function(call, operands, training)
    if call.operator.evaluation is not Evaluation.ANY:
        if _is_on_host(call, operands):
            return _run_on_host(call, operands)
        operands = _on_device(operands, call.operator.host)
    context = _context_values(call, environment, training)
    returned = call.operator.function(*operands, **call.attributes, **context)
    results = returned if isinstance(returned, tuple) else (returned,)
    _check_growth(operands, results)
    return results


def _check_growth(operands: Sequence[Value], results: Sequence[Value]) -> None:
    """Refuse large results of small operands, as long as nothing has computed them.

    Sizes in attributes, paddings and products of a row with a column make them, too.
    """
    for result in results:
        if isinstance(result, flow.Tensor) and result.numel() > MOST_ELEMENTS:
            size = sum(
                v.size if isinstance(v, np.ndarray) else v.numel() for v in operands if has_shape(v)
            )
            if result.numel() > _MOST_GROWTH * size:
                check_size(result.shape)


def _run_function(call: NodeCall, operands: list[Value], training: bool) -> Sequence[Value]:
    prepared = call.body
    if prepared is None:
        assert call.expansion is not None
        prepared = call.expansion.graph_for(operands)
    operands += [None] * (len(prepared.inputs) - len(operands))
    return run_prepared(prepared, dict(zip(prepared.inputs, operands, strict=True)), training)


def _is_on_host(call: NodeCall, operands: list[Value]) -> bool:
    assert call.operator is not None
    if call.operator.evaluation is Evaluation.HOST:
        return True
    arrays = [value for value in operands if isinstance(value, np.ndarray)]
    on_tensors = any(isinstance(value, flow.Tensor) for value in operands)
    if call.operator.evaluation is Evaluation.FOLDED and arrays and not on_tensors:
        return True
    positions = (i for i, value in enumerate(operands) if isinstance(value, np.ndarray))
    return any(not fits_tensor(operands[i]) for i in positions if i not in call.operator.host)


def _run_on_host(call: NodeCall, operands: list[Value]) -> list[Value]:
    """Execute a call with ONNX's reference implementation.

    It serves arithmetic on shapes, strings, and element types that tensors lack. A result computed
    from tensors becomes a tensor again if it fits.
    """
    evaluator = call.__dict__.get("evaluator")
    if evaluator is None:
        evaluator = call.__dict__["evaluator"] = reference_evaluator(call.node, call.opsets)
    tensor = next((v for v in operands if isinstance(v, flow.Tensor)), None)
    named = zip(call.node.input, operands, strict=False)
    arrays = {name: as_host(value) for name, value in named if name}
    if tensor is None:
        check_host_operands([arrays[name] for name in call.node.input if name])
    computed = dict(zip(evaluator.output_names, evaluator.run(None, arrays), strict=True))
    results = [np.asarray(computed[name]) if name else None for name in call.node.output]
    if tensor is None:
        return results
    return [as_tensor(r, tensor) if r is not None and fits_tensor(r) else r for r in results]


def _on_device(operands: list[Value], host: frozenset[int]) -> list[Value]:
    """Return `operands` on the host where `host` says so, as tensors otherwise."""
    like = next((value for value in operands if isinstance(value, flow.Tensor)), None)
    return [
        as_host(value)
        if position in host
        else as_tensor(value, like)
        if isinstance(value, np.ndarray)
        else value
        for position, value in enumerate(operands)
    ]


def _context_values(
    call: NodeCall, environment: dict[str, Value], training: bool
) -> dict[str, Any]:
    """Return what the operator's function wants to know about the call."""
    if not call.context:
        return {}

    def read_by(prepared: PreparedGraph, inputs: Sequence[Value]) -> dict[str, Value]:
        around = {name: environment[name] for name in prepared.free_names() if name in environment}
        return {**around, **dict(zip(prepared.inputs, inputs, strict=True))}

    def run_graph(prepared: PreparedGraph, inputs: Sequence[Value]) -> list[Value]:
        return run_prepared(prepared, read_by(prepared, inputs), training)

    def example_rows(prepared: PreparedGraph, inputs: Sequence[Value], count: int) -> list[Value]:
        assert prepared.graph is not None
        values = read_by(prepared, inputs)
        like = next((value for value in values.values() if isinstance(value, flow.Tensor)), None)
        rows = example_outputs(prepared.graph, prepared.opsets, values)[-count:]
        return [row if like is None else as_tensor(row, like) for row in rows]

    context: dict[str, Any | Callable[..., Any]] = {
        "training": training,
        "n_outputs": len(call.node.output),
        "run_graph": run_graph,
        "example_rows": example_rows,
        "opset": call.opset,
    }
    return {name: context[name] for name in call.context}
