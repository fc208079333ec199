"""Templates: how operators are written, as layers, functions and methods of OneFlow.

A template returns None where an operator's attributes or operands have no plain form; the operator
is then written as `call`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from oneflow.base.function_table import FunctionTable
from oneflow_onnx.x2oneflow.codegen.lines import Layer, Line, LiteralSlot
from oneflow_onnx.x2oneflow.codegen.literals import literal, number_literal
from oneflow_onnx.x2oneflow.codegen.source import Source
from oneflow_onnx.x2oneflow.prepared_graph import NodeCall

Template = Callable[[NodeCall, Source], Line | None]
TEMPLATES: FunctionTable[Template] = FunctionTable("a template of")
_template = TEMPLATES.register


def _line(call: NodeCall, inputs: Sequence[str], text: str, *layers: Layer) -> Line:
    return Line(tuple(call.node.output), tuple(inputs), text, layers)


# --- functions of one or two operands

_FUNCTIONS = {
    "Abs": "flow.abs({0})",
    "Ceil": "flow.ceil({0})",
    "Cos": "flow.cos({0})",
    "Erf": "flow.erf({0})",
    "Exp": "flow.exp({0})",
    "Floor": "flow.floor({0})",
    "HardSwish": "F.hardswish({0})",
    "Log": "flow.log({0})",
    "Mish": "F.mish({0})",
    "Neg": "-{0}",
    "Reciprocal": "1 / {0}",
    "Relu": "F.relu({0})",
    "Sigmoid": "flow.sigmoid({0})",
    "Sin": "flow.sin({0})",
    "Softsign": "F.softsign({0})",
    "Sqrt": "flow.sqrt({0})",
    "Tanh": "flow.tanh({0})",
}
_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "MatMul": "@", "Pow": "**"}


def _write_function(call: NodeCall, source: Source) -> Line | None:
    return _line(call, call.node.input, _FUNCTIONS[call.node.op_type])


for _name in _FUNCTIONS:
    TEMPLATES[_name] = _write_function


@_template("Add", "Sub", "Mul", "Div", "Pow")
def _write_binary(call: NodeCall, source: Source) -> Line | None:
    """Write an operator between two tensors, or a tensor and a number."""
    if call.opset < 7:
        return None
    terms: list[str] = []
    inputs: list[str] = []
    layers: list[Layer] = []
    for name in call.node.input:
        literal = source.scalar(name)
        if literal is not None and not _is_plain_scalar(source, name):
            return None
        if literal is not None:
            terms.append(literal if not literal.startswith("-") else f"({literal})")
        elif source.is_exclusive(name):
            terms.append(f"{{layer{len(layers)}}}")
            layers.append(source.stored(name))
        else:
            terms.append(f"{{{len(inputs)}}}")
            inputs.append(name)
    if not inputs or any(name in source.host for name in inputs):
        return None
    arrays = [array for n in call.node.input if (array := _array(source, n)) is not None]
    floating = bool(arrays) and all(array.dtype.kind == "f" for array in arrays)
    if call.node.op_type in ("Div", "Pow") and not floating:
        return None
    text = f"{terms[0]} {_OPERATORS[call.node.op_type]} {terms[1]}"
    return _line(call, inputs, text, *layers)


def _array(source: Source, name: str) -> np.ndarray | None:
    array = source.constants.get(name)
    return source.state.get(name) if array is None else array


def _is_plain_scalar(source: Source, name: str) -> bool:
    """Return True for a number that does not add dimensions to the other operand."""
    array = source.constants[name]
    return array.ndim <= 1 and array.dtype.kind in "fi" and array.dtype.itemsize >= 4


@_template("MatMul")
def _write_matmul(call: NodeCall, source: Source) -> Line | None:
    """Write a product; with a weight of two dimensions it is a linear layer."""
    left, right = call.node.input
    if left in source.host or right in source.host:
        return None
    if source.is_exclusive(right) and source.state[right].ndim == 2 and left not in source.state:
        weight = source.state[right]
        return _line(call, [left], "{layer0}({0})", _linear(weight.T, None))
    layers = [source.stored(name) for name in (left, right) if source.is_exclusive(name)]
    terms, inputs = [], []
    for name in (left, right):
        if source.is_exclusive(name):
            terms.append(f"{{layer{sum(t.startswith('{layer') for t in terms)}}}")
        else:
            terms.append(f"{{{len(inputs)}}}")
            inputs.append(name)
    return _line(call, inputs, " @ ".join(terms), *layers)


def _linear(weight: np.ndarray, bias: np.ndarray | None) -> Layer:
    slots = (
        LiteralSlot("in_features", weight.shape[1]),
        LiteralSlot("out_features", weight.shape[0]),
    )
    state = {"weight": np.ascontiguousarray(weight)}
    if bias is None:
        return Layer("linear", "nn.Linear({}, {}, bias=False)", slots, state)
    return Layer("linear", "nn.Linear({}, {})", slots, {**state, "bias": bias})


@_template("Gemm")
def _write_gemm(call: NodeCall, source: Source) -> Line | None:
    """Write a linear layer."""
    a = call.attributes
    x, weight, *rest = call.node.input
    plain = a.get("alpha", 1) == 1 and a.get("beta", 1) == 1 and not a.get("transA", 0)
    if not plain or not source.is_exclusive(weight):
        return None
    matrix = source.state[weight] if a.get("transB", 0) else source.state[weight].T
    bias = None
    if rest and rest[0]:
        if not source.is_exclusive(rest[0]) or source.state[rest[0]].shape != (matrix.shape[0],):
            return None
        bias = source.state[rest[0]]
    return _line(call, [x], "{layer0}({0})", _linear(matrix, bias))


def with_biases(lines: list[Line], uses: Mapping[str, int]) -> list[Line]:
    """Return `lines` with a linear layer and the addition of a vector as one layer."""
    merged: list[Line] = []
    for line in lines:
        before = merged[-1] if merged else None
        layer = _biased(before, line, uses) if before else None
        if before and layer:
            merged[-1] = Line(line.outputs, before.inputs, before.text, (layer,))
        else:
            merged.append(line)
    return merged


def _biased(before: Line, line: Line, uses: Mapping[str, int]) -> Layer | None:
    """Return the layer of two lines: a product with a weight, and an addition to it."""
    if line.inputs != before.outputs or uses[before.outputs[0]] != 1:
        return None
    if line.text not in ("{0} + {layer0}", "{layer0} + {0}") or len(before.layers) != 1:
        return None
    (layer,), (bias_layer,) = before.layers, line.layers
    if not (isinstance(layer, Layer) and isinstance(bias_layer, Layer)):
        return None
    bias = bias_layer.state.get("")
    if layer.construction != "nn.Linear({}, {}, bias=False)" or bias is None:
        return None
    weight = layer.state["weight"]
    return _linear(weight, bias) if bias.shape == weight.shape[:1] else None


# --- layers with weights


def _pair(values: Sequence[int]) -> int | tuple[int, ...]:
    return values[0] if len(set(values)) == 1 else tuple(values)


@_template("Conv")
def _write_conv(call: NodeCall, source: Source) -> Line | None:
    """Write a convolution with symmetric padding."""
    a = call.attributes
    x, weight, *rest = call.node.input
    names = [weight, *[name for name in rest if name]]
    if (
        not all(source.is_exclusive(name) for name in names)
        or a.get("auto_pad", "NOTSET") != "NOTSET"
    ):
        return None
    kernel = source.state[weight]
    rank = kernel.ndim - 2
    pads = list(a.get("pads") or [0] * (2 * rank))
    if pads[:rank] != pads[rank:] or min(pads) < 0 or rank > 3:
        return None
    group = a.get("group", 1)
    slots = [
        LiteralSlot("in_channels", kernel.shape[1] * group),
        LiteralSlot("out_channels", kernel.shape[0]),
        LiteralSlot("kernel_size", _pair(kernel.shape[2:])),
        LiteralSlot("stride", _pair(a.get("strides") or [1] * rank), 1),
        LiteralSlot("padding", _pair(pads[:rank]), 0),
        LiteralSlot("dilation", _pair(a.get("dilations") or [1] * rank), 1),
        LiteralSlot("groups", group, 1),
    ]
    state: dict[str, np.ndarray] = dict(
        zip(("weight", "bias"), (source.state[n] for n in names), strict=False)
    )
    bias = "" if len(names) == 2 else ", bias=False"
    construction = f"nn.Conv{rank}d({{}}, {{}}, {{}}{{}}{{}}{{}}{{}}{bias})"
    return _line(call, [x], "{layer0}({0})", Layer("conv", construction, tuple(slots), state))


@_template("BatchNormalization")
def _write_batch_norm(call: NodeCall, source: Source) -> Line | None:
    """Write batch normalisation."""
    a = call.attributes
    x, *names = call.node.input
    rank = source.rank(x) - 2
    plain = all(source.is_exclusive(name) for name in names) and len(call.node.output) == 1
    plain = plain and not a.get("training_mode", 0) and a.get("spatial", 1) == 1
    if not plain or rank not in (0, 1, 2, 3):
        return None
    keys = ("weight", "bias", "running_mean", "running_var")
    state: dict[str, np.ndarray] = dict(
        zip(keys, (source.state[name] for name in names), strict=True)
    )
    slots = (LiteralSlot("channels", len(state["weight"])),)
    eps = _keyword("eps", a.get("epsilon", 1e-5), 1e-5)
    # ONNX's momentum is the weight of the old statistics.
    momentum = _keyword("momentum", round(1 - a.get("momentum", 0.9), 6), 0.1)
    construction = f"nn.BatchNorm{max(rank, 1)}d({{}}{eps}{momentum})"
    return _line(call, [x], "{layer0}({0})", Layer("norm", construction, slots, state))


def _keyword(name: str, value: float, default: float) -> str:
    text = _short(value)
    return "" if text == _short(default) else f", {name}={text}"


def _short(value: float) -> str:
    return number_literal(np.array(value, np.float32))


@_template("LayerNormalization")
def _write_layer_norm(call: NodeCall, source: Source) -> Line | None:
    """Write layer normalisation with weights."""
    x, *names = call.node.input
    plain = len(names) == 2 and all(source.is_exclusive(name) for name in names)
    if not plain or len(call.node.output) != 1 or call.attributes.get("axis", -1) != -1:
        return None
    weight, bias = (source.state[name] for name in names)
    if weight.ndim != 1 or bias.shape != weight.shape:
        return None
    eps = _keyword("eps", call.attributes.get("epsilon", 1e-5), 1e-5)
    construction = f"nn.LayerNorm({{}}{eps})"
    slots = (LiteralSlot("features", len(weight)),)
    layer = Layer("norm", construction, slots, {"weight": weight, "bias": bias})
    return _line(call, [x], "{layer0}({0})", layer)


@_template("Gather")
def _write_gather(call: NodeCall, source: Source) -> Line | None:
    """Write an embedding, or the selection of one entry."""
    table, indices = call.node.input
    axis = call.attributes.get("axis", 0)
    index = source.constants.get(indices)
    if index is not None and index.ndim == 0 and table not in source.state:
        return _line(call, [table], f"{{0}}.select({literal(axis)}, {literal(index.item())})")
    if not source.is_exclusive(table) or axis or indices in source.host:
        return None
    weight = source.state[table]
    if weight.ndim != 2 or weight.dtype.kind != "f":
        return None
    slots = (LiteralSlot("count", weight.shape[0]), LiteralSlot("features", weight.shape[1]))
    layer = Layer("embedding", "nn.Embedding({}, {})", slots, {"weight": weight})
    return _line(call, [indices], "{layer0}({0})", layer)


# --- pooling, activation functions with attributes, shapes


@_template("MaxPool", "AveragePool")
def _write_pool(call: NodeCall, source: Source) -> Line | None:
    """Write pooling with symmetric padding and without partial windows."""
    a = call.attributes
    kernel = list(a["kernel_shape"])
    rank = len(kernel)
    pads = list(a.get("pads") or [0] * (2 * rank))
    windows = zip(pads[:rank], pads[rank:], kernel, strict=True)
    is_symmetric = all(before == after and 2 * before <= k for before, after, k in windows)
    special = a.get("ceil_mode", 0) or a.get("auto_pad", "NOTSET") != "NOTSET"
    is_dilated = set(a.get("dilations") or [1]) != {1}
    if not is_symmetric or special or is_dilated or len(call.node.output) > 1 or rank > 3:
        return None
    size, stride = (literal(_pair(sizes)) for sizes in (kernel, a.get("strides") or [1] * rank))
    tail = f", {literal(_pair(pads[:rank]))}" if any(pads) else ""
    if call.node.op_type == "MaxPool":
        text = f"F.max_pool{rank}d({{0}}, {size}, {stride}{tail})"
    elif any(pads) and not a.get("count_include_pad", 0):
        return None
    else:
        text = f"F.avg_pool{rank}d({{0}}, {size}, {stride}{tail})"
    return _line(call, call.node.input, text)


@_template("GlobalAveragePool")
def _write_global_pool(call: NodeCall, source: Source) -> Line | None:
    """Write the mean over the pixels."""
    rank = source.rank(call.node.input[0])
    if rank < 3:
        return None
    return _line(call, call.node.input, f"{{0}}.mean({list(range(2, rank))}, keepdim=True)")


@_template("Softmax", "LogSoftmax")
def _write_softmax(call: NodeCall, source: Source) -> Line | None:
    """Write softmax over one dimension."""
    name = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}[call.node.op_type]
    if call.opset < 13:
        return None
    return _line(
        call, call.node.input, f"F.{name}({{0}}, {literal(call.attributes.get('axis', -1))})"
    )


@_template("LeakyRelu")
def _write_leaky_relu(call: NodeCall, source: Source) -> Line | None:
    slope = _short(call.attributes.get("alpha", 0.01))
    return _line(call, call.node.input, f"F.leaky_relu({{0}}, {slope})")


@_template("Gelu")
def _write_gelu(call: NodeCall, source: Source) -> Line | None:
    if call.attributes.get("approximate", "none") == "tanh":
        return _line(call, call.node.input, 'F.gelu({0}, approximate="tanh")')
    return _line(call, call.node.input, "F.gelu({0})")


@_template("Clip")
def _write_clip(call: NodeCall, source: Source) -> Line | None:
    """Write limits that are constants."""
    x, *limits = call.node.input
    if call.opset < 11 or len(limits) != 2:
        return None
    low, high = (source.scalar(name) for name in limits)
    if low is None or high is None:
        return None
    return _line(call, [x], f"flow.clamp({{0}}, {low}, {high})")


@_template("Concat")
def _write_concat(call: NodeCall, source: Source) -> Line | None:
    """Write the joining of tensors."""
    names = list(call.node.input)
    if any(name in source.host or name in source.state for name in names):
        return None
    marks = ", ".join(f"{{{index}}}" for index in range(len(names)))
    return _line(call, names, f"flow.cat([{marks}], {literal(call.attributes.get('axis', 1))})")


@_template("Transpose")
def _write_transpose(call: NodeCall, source: Source) -> Line | None:
    order = call.attributes.get("perm")
    if order is None:
        return None
    return _line(call, call.node.input, f"{{0}}.permute({', '.join(map(literal, order))})")


@_template("Flatten")
def _write_flatten(call: NodeCall, source: Source) -> Line | None:
    if call.attributes.get("axis", 1) != 1:
        return None
    return _line(call, call.node.input, "flow.flatten({0}, 1)")


@_template("Reshape")
def _write_reshape(call: NodeCall, source: Source) -> Line | None:
    """Write a shape in which nothing stands for the operand's sizes."""
    x, *rest = call.node.input
    if not rest:
        return None
    shape = source.constants.get(rest[0])
    if shape is None:
        shape = source.partial.get(rest[0], np.zeros(1))
    # One size that is not known follows from the others.
    sizes = [-1 if size is None else size for size in shape.tolist()]
    if 0 in sizes or sizes.count(-1) > 1:
        return None
    return _line(call, [x], f"{{0}}.reshape({', '.join(map(literal, sizes))})")


@_template("Unsqueeze", "Squeeze")
def _write_squeeze(call: NodeCall, source: Source) -> Line | None:
    """Write the insertion of one dimension, or the removal of some."""
    axes = _axes(call, source)
    method = call.node.op_type.lower()
    if not axes or (len(axes) > 1 and method == "unsqueeze"):
        return None
    dims = axes[0] if len(axes) == 1 else tuple(axes)
    return _line(call, call.node.input[:1], f"{{0}}.{method}({literal(dims)})")


@_template("ReduceMean")
def _write_mean(call: NodeCall, source: Source) -> Line | None:
    axes = _axes(call, source)
    if not axes:
        return None
    keep = ", keepdim=True" if call.attributes.get("keepdims", 1) else ""
    return _line(call, call.node.input[:1], f"{{0}}.mean({literal(axes)}{keep})")


def _axes(call: NodeCall, source: Source) -> list[int] | None:
    """The dimensions that an attribute or the second operand names, if they are known."""
    _, *rest = call.node.input
    if rest and rest[0]:
        axes = source.constants.get(rest[0])
        return None if axes is None else axes.reshape(-1).tolist()
    return list(call.attributes.get("axes", ()))


@_template("Identity")
def _write_identity(call: NodeCall, source: Source) -> Line | None:
    """Write nothing but the operand."""
    return _line(call, call.node.input, "{0}")


@_template("Dropout")
def _write_dropout(call: NodeCall, source: Source) -> Line | None:
    """Write a layer, which drops while the module trains."""
    x, *rest = call.node.input
    ratio = _short(call.attributes.get("ratio", 0.5))
    if rest and rest[0]:
        ratio = source.scalar(rest[0]) or ""
    if len(call.node.output) > 1 or not ratio or len(rest) > 1:
        return None
    return _line(call, [x], "{layer0}({0})", Layer("dropout", f"nn.Dropout({ratio})", (), {}))
