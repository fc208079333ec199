"""Recurrent layers: ONNX's LSTM, GRU and RNN, one layer and direction each.

The primitives get the input's part of every step ready; it is found again in the product before.
Without such a product the layer's own input weight is the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import require_static

# The order in which ONNX takes the gates that are here input, forget, cell, output, and
# reset, update, new.
_LSTM_ORDER, _GRU_ORDER = (0, 3, 1, 2), (1, 0, 2)


@lowering("lstm")
def _lstm(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref, None]:
    x, h0, c0, weight, *rest = call.operands
    if call["extra"] or rest:
        raise Unsupported("an LSTM with projections or sequences of different lengths")
    inputs = _layer_inputs(b, call, x, weight, None, _LSTM_ORDER)
    states = [o.unsqueeze(b, state, [0]) for state in (h0, c0)]
    shape, last = _shapes(call, 0)
    outputs = [(shape, h0.dtype), (last, h0.dtype), (last, c0.dtype)]
    results = b.multiple("LSTM", [*inputs, None, *states], outputs, **_options(call, weight, 4))
    hs, h_last, c_last = (
        o.squeeze(b, result, [1 if i == 0 else 0]) for i, result in enumerate(results)
    )
    b.final_states[hs] = h_last
    # Only the last of the cell's states can be had.
    cs = b.missing((call.results[1].shape, c0.dtype), "all cell states of an LSTM")
    b.final_states[cs] = c_last
    return hs, cs, None


@lowering("gru")
def _gru(b: OnnxBuilder, call: Call) -> tuple[Ref, None]:
    x, h0, weight, *rest = call.operands
    if len(rest) > call["extra"]:
        raise Unsupported("a GRU on sequences of different lengths")
    recurrent_bias = rest[0] if call["extra"] else None
    inputs = _layer_inputs(b, call, x, weight, recurrent_bias, _GRU_ORDER)
    options = {**_options(call, weight, 3), "linear_before_reset": 1}
    return _stateful(b, call, "GRU", inputs, h0, options), None


@lowering("rnn")
def _rnn(b: OnnxBuilder, call: Call) -> Ref:
    x, h0, weight, *lengths = call.operands
    if lengths:
        raise Unsupported("an RNN on sequences of different lengths")
    inputs = _layer_inputs(b, call, x, weight, None, (0,))
    options = _options(call, weight, 1)
    options["activations"] = ["Relu" if call["relu"] else "Tanh"]
    return _stateful(b, call, "RNN", inputs, h0, options)


def _stateful(
    b: OnnxBuilder,
    call: Call,
    name: str,
    inputs: Sequence[Ref | None],
    h0: Ref,
    options: dict[str, Any],
) -> Ref:
    """All states of a layer with one state."""
    shape, last = _shapes(call, 0)
    outputs = [(shape, h0.dtype), (last, h0.dtype)]
    results = b.multiple(name, [*inputs, None, o.unsqueeze(b, h0, [0])], outputs, **options)
    hs = o.squeeze(b, results[0], [1])
    b.final_states[hs] = o.squeeze(b, results[1], [0])
    return hs


def _shapes(call: Call, result: int) -> tuple[tuple, tuple]:
    """The shapes of ONNX's outputs: all states, and the last one."""
    steps, batch, width = call.results[result].shape
    return (steps, 1, batch, width), (1, batch, width)


def _options(call: Call, weight: Ref, gates: int) -> dict[str, Any]:
    (rows,) = require_static(weight.shape[:1], "the weight of a recurrent layer")
    direction = "reverse" if call["reverse"] else "forward"
    return {"hidden_size": rows // gates, "direction": direction}


def _layer_inputs(
    b: OnnxBuilder,
    call: Call,
    linear_output: Ref,
    weight: Ref,
    recurrent_bias: Ref | None,
    order: Sequence[int],
) -> list[Ref | None]:
    """The sequence, and weights and biases with their gates in ONNX's order."""
    product = call.producer_of(linear_output, "linear") or call.producer_of(
        linear_output, "linear_no_bias"
    )
    bias = None
    if product is not None and product.operands[0].rank == 3:
        x, input_weight, *rest = product.operands
        bias = rest[0] if rest else None
    else:
        (rows,) = require_static(weight.shape[:1], "the weight of a recurrent layer")
        x, input_weight = linear_output, b.constant(np.eye(rows, dtype=weight.dtype))
    if recurrent_bias is None and bias is not None:
        both = call.producer_of(bias, "add")
        bias, recurrent_bias = both.operands if both is not None else (bias, None)
    weights = [o.unsqueeze(b, _reordered(b, w, order), [0]) for w in (input_weight, weight)]
    if bias is None and recurrent_bias is None:
        return [x, *weights, None]
    (rows,) = require_static(weight.shape[:1], "the weight of a recurrent layer")
    zeros = b.constant(np.zeros(rows, weight.dtype))
    biases = [zeros if vector is None else vector for vector in (bias, recurrent_bias)]
    joint = o.concat(b, [_reordered(b, vector, order) for vector in biases], 0)
    return [x, *weights, o.unsqueeze(b, joint, [0])]


def _reordered(b: OnnxBuilder, x: Ref, order: Sequence[int]) -> Ref:
    """A weight with its gates in another order."""
    (rows,) = require_static(x.shape[:1], "the weight of a recurrent layer")
    if len(order) == 1:
        return x
    gates = o.split(b, x, [rows // len(order)] * len(order), 0)
    return o.concat(b, [gates[place] for place in order], 0)


@lowering("lstm_cell")
def _lstm_cell(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    into, c = call.operands
    i, f, g, out = _gates(b, into, 4)
    i, f, out = (b.op("Sigmoid", gate) for gate in (i, f, out))
    new = b.op("Add", b.op("Mul", f, c), b.op("Mul", i, b.op("Tanh", g)))
    return b.op("Mul", out, b.op("Tanh", new)), new


@lowering("gru_cell")
def _gru_cell(b: OnnxBuilder, call: Call) -> Ref:
    x, recurrent, h = call.operands
    r, z, n = _gates(b, x, 3)
    recurrent_r, recurrent_z, recurrent_n = _gates(b, recurrent, 3)
    r = b.op("Sigmoid", b.op("Add", r, recurrent_r))
    z = b.op("Sigmoid", b.op("Add", z, recurrent_z))
    n = b.op("Tanh", b.op("Add", n, b.op("Mul", r, recurrent_n)))
    return b.op("Add", n, b.op("Mul", z, b.op("Sub", h, n)))


def _gates(b: OnnxBuilder, x: Ref, count: int) -> list[Ref]:
    (width,) = require_static(x.shape[-1:], "the gates of a cell")
    return o.split(b, x, [width // count] * count, x.rank - 1)
