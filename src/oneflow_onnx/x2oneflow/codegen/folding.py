"""Folding: arithmetic on shapes that ONNX's shape inference decides, done while code is written."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from oneflow_onnx.x2oneflow.execution import run_node
from oneflow_onnx.x2oneflow.prepared_graph import NodeCall, PreparedGraph

# Arrays of integers in which None stands for a size that is only known when the model runs.
Partial = np.ndarray

# Initializers of more bytes do not hold shapes.
_SMALL = 1024
# Rounds of inference; each goes past one more level of reshapes.
_ROUNDS = 40


def fold(
    prepared: PreparedGraph, constants: Mapping[str, np.ndarray], shapes: Shapes
) -> tuple[dict[str, np.ndarray], dict[str, Partial]]:
    """Return the values that are known, `constants` among them, and those known in part."""
    values, partial = _fold(prepared, constants, shapes.known)
    for _ in range(_ROUNDS):
        targets = [
            (call.node.output[0], partial.get(call.node.input[1]))
            for call in prepared.calls
            if call.node.op_type == "Reshape" and len(call.node.input) == 2
        ]
        new = [
            (n, t.tolist())
            for n, t in targets
            if t is not None and None in shapes.known.get(n, [None])
        ]
        new = [(n, sizes) for n, sizes in new if shapes.known.get(n) != sizes]
        if not new:
            break
        for name, sizes in new:
            shapes.set_sizes(name, sizes)
        shapes.infer()
        values, partial = _fold(prepared, constants, shapes.known)
    return values, partial


def _fold(
    prepared: PreparedGraph,
    constants: Mapping[str, np.ndarray],
    shapes: Mapping[str, list[int | None]],
) -> tuple[dict[str, np.ndarray], dict[str, Partial]]:
    folded: dict[str, np.ndarray] = dict(constants)
    partial: dict[str, Partial] = {}
    for call in prepared.calls:
        inputs = [name for name in call.node.input if name]
        if call.operator is None or len(call.node.output) != 1:
            continue
        output = call.node.output[0]
        if call.node.op_type == "Shape":
            if inputs[0] in shapes:
                a = call.attributes
                dims = shapes[inputs[0]][slice(a.get("start", 0), a.get("end"))]
                _store(output, np.array(dims, object), folded, partial)
        elif inputs and folded.keys() >= set(inputs) and not list(call.inner_graphs()):
            result = run_node(call, {name: folded[name] for name in inputs}, training=False)[0]
            if isinstance(result, np.ndarray):
                folded[output] = result
        elif inputs and all(name in folded or name in partial for name in inputs):
            values = [partial.get(name, folded.get(name)) for name in inputs]
            rule = _RULES.get(call.node.op_type)
            if rule is not None:
                _store(output, rule(call, values), folded, partial)
    return folded, partial


def _store(
    name: str, value: Partial, folded: dict[str, np.ndarray], partial: dict[str, Partial]
) -> None:
    if any(size is None for size in value.reshape(-1)):
        partial[name] = value
    else:
        folded[name] = value.astype(np.int64)


def _axes(call: NodeCall, values: list[Any]) -> tuple[int, ...]:
    axes = call.attributes.get("axes")
    return tuple(values[1].reshape(-1).tolist() if axes is None else axes)


def _slice(call: NodeCall, values: list[Any]) -> Partial:
    starts, ends, *rest = (int(value.reshape(-1)[0]) for value in values[1:])
    return values[0][starts : ends : rest[1] if len(rest) > 1 else 1]


def _concat(call: NodeCall, values: list[Any]) -> Partial:
    return np.concatenate([np.asarray(value, object) for value in values], call.attributes["axis"])


def _arithmetic(function: Callable[[int, int], int]) -> Callable[[NodeCall, list[Any]], Partial]:
    def apply(call: NodeCall, values: list[Any]) -> Partial:
        def combine(a: int | None, b: int | None) -> int | None:
            return None if a is None or b is None else function(a, b)

        left, right = (np.asarray(value, object) for value in values)
        return np.asarray(np.frompyfunc(combine, 2, 1)(left, right), object)

    return apply


_RULES: dict[str, Callable[[NodeCall, list[Any]], Partial]] = {
    "Add": _arithmetic(operator.add),
    "Cast": lambda call, values: values[0],
    "Concat": _concat,
    "Gather": lambda call, values: np.asarray(
        np.take(values[0], values[1], call.attributes.get("axis", 0)), object
    ),
    "Div": _arithmetic(operator.floordiv),
    "Identity": lambda call, values: values[0],
    "Mul": _arithmetic(operator.mul),
    "Slice": _slice,
    "Sub": _arithmetic(operator.sub),
    "Squeeze": lambda call, values: np.asarray(values[0].reshape(()), object),
    "Unsqueeze": lambda call, values: np.expand_dims(
        np.asarray(values[0], object), _axes(call, values)
    ),
}


class Shapes:
    """The shapes that ONNX infers, and the shapes that follow from folded values."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = _without_weights(model)
        self.known = _infer(self._model)

    def set_sizes(self, name: str, sizes: list[int | None]) -> None:
        """Take over the shape of a value, to infer more from it."""
        dims = [None if size is None or size < 0 else size for size in sizes]
        self._model.graph.value_info.append(
            helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
        )
        self.known[name] = dims

    def infer(self) -> None:
        """Infer again."""
        learned = dict(self.known)
        self.known = {**_infer(self._model), **learned}


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy in which large initializers are inputs, so that inference is quick."""
    copy = onnx.ModelProto()
    small = [t for t in model.graph.initializer if len(t.raw_data) <= _SMALL]
    large = [t for t in model.graph.initializer if len(t.raw_data) > _SMALL]
    copy.opset_import.extend(model.opset_import)
    copy.ir_version = model.ir_version
    graph = copy.graph
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    graph.initializer.extend(small)
    named = {tensor.name for tensor in large}
    graph.input.extend(i for i in model.graph.input if i.name not in named)
    graph.input.extend(
        helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in large
    )
    return copy


def _infer(model: onnx.ModelProto) -> dict[str, list[int | None]]:
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except (onnx.shape_inference.InferenceError, ValueError):
        graph = model.graph
    return {
        info.name: [
            d.dim_value if d.HasField("dim_value") else None
            for d in info.type.tensor_type.shape.dim
        ]
        for info in [*graph.value_info, *graph.input, *graph.output]
        if info.type.tensor_type.HasField("shape")
    }
