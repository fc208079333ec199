"""Recurrent layers and cells, from the primitives that run one layer in one direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oneflow.functional.nn.dense import linear
from oneflow.functional.nn.dropout import dropout
from oneflow.primitives.operators import elementwise as p, rnn as r
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.shape import concat, select, stack
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor

States = tuple[Tensor, ...]
# Gates per mode: how many times the hidden size the weights have rows.
GATE_COUNT = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class Weights(NamedTuple):
    """The parameters of one layer in one direction, or of one cell."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None

    @property
    def bias(self) -> Tensor | None:
        """Both biases in one."""
        if self.input_bias is None:
            return None
        return call(p.add, self.input_bias, self.hidden_bias)


def _run_direction(
    mode: str, x: Tensor, states: States, weights: Weights, reverse: bool, lengths: Tensor | None
) -> tuple[Tensor, States]:
    """Outputs of every step and the states after the last, of one layer in one direction."""
    limits = () if lengths is None else (lengths,)
    # A GRU scales its hidden bias, so that it stays apart.
    input_bias = weights.input_bias if mode == "GRU" else weights.bias
    operands = [linear(x, weights.input, input_bias), *states, weights.hidden]
    if mode in ("LSTM", "GRU"):
        last_operand = weights.projection if mode == "LSTM" else weights.hidden_bias
        extra = () if last_operand is None else (last_operand,)
        cell, count = (r.lstm, 2) if mode == "LSTM" else (r.gru, 1)
        outputs = call(cell, *operands, *extra, *limits, reverse=reverse, extra=bool(extra))[:count]
    else:
        outputs = (call(r.rnn, *operands, *limits, reverse=reverse, relu=mode == "RNN_RELU"),)
    last = 0 if reverse else x.shape[0] - 1
    return outputs[0], tuple([call(select, output, last, dims=(0,)) for output in outputs])


def run_layers(
    mode: str,
    x: Tensor,
    states: States,
    layers: Sequence[Sequence[Weights]],
    dropout_probability: float = 0.0,
    lengths: Tensor | None = None,
) -> tuple[Tensor, States]:
    """Run a stack of recurrent layers.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        x: input, shape ``(steps, batch, features)``.
        states: initial hidden (and cell) states, shape ``(layers * directions, batch, size)``.
        layers: per layer, the weights of its one or two directions.
        dropout_probability: the probability with which outputs between layers are dropped; 0 in
            evaluation.
        lengths: how many steps each sequence has, default all.

    Returns:
        The outputs of the last layer and the final states.
    """
    final_states: list[States] = []
    for index, directions in enumerate(layers):
        if index and dropout_probability:
            x = dropout(x, dropout_probability)
        outputs = []
        for reverse, weights in enumerate(directions):
            initial = tuple([call(select, state, len(final_states), dims=(0,)) for state in states])
            output, final = _run_direction(mode, x, initial, weights, bool(reverse), lengths)
            outputs.append(output)
            final_states.append(final)
        x = outputs[0] if len(outputs) == 1 else call(concat, *outputs, dim=2)
    return x, tuple(
        [call(stack, *layer_states, dim=0) for layer_states in zip(*final_states, strict=True)]
    )


def zero_states(like: Tensor, shapes: Sequence[tuple[int, ...]]) -> States:
    """States of zeros with the dtype and device of `like`."""
    options = {"dtype": like.dtype, "device": like.device}
    return tuple([wrap(zeros(shape=shape, **options)) for shape in shapes])


def run_cell(mode: str, x: Tensor, states: States, weights: Weights) -> States:
    """The states after one step.

    Args:
        mode: the same as for `run_layers`.
        x: input, shape ``(batch, features)``.
        states: hidden (and cell) states, shape ``(batch, size)``.
        weights: the weights of the cell.
    """
    input_part = linear(x, weights.input, weights.input_bias)
    hidden_part = linear(states[0], weights.hidden, weights.hidden_bias)
    if mode == "LSTM":
        return call(r.lstm_cell, call(p.add, input_part, hidden_part), states[1])
    if mode == "GRU":
        return (call(r.gru_cell, input_part, hidden_part, states[0]),)
    total = call(p.add, input_part, hidden_part)
    return (call(p.relu if mode == "RNN_RELU" else p.tanh, total),)
