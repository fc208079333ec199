"""Recurrent layers as upstream's builtins take their weights: in one list."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.functional.nn.rnn import Weights, run_layers
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def rnn_tanh(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """The outputs of `nn.RNN` with ``nonlinearity="tanh"``, for padded sequences.

    Args:
        input: ``(steps, batch, features)``.
        hx: the initial state, ``(layers * directions, batch, size)``.
        params: for each layer and direction its weights of the input and of the state, and both
            biases if it has them.
        has_biases: whether `params` holds biases.
        num_layers: number of layers.
        dropout: probability of dropout between layers.
        train: whether there is dropout.
        bidirectional: whether a second set of layers reads backwards.
        batch_first: `input` and the outputs are ``(batch, steps, features)``.

    Returns:
        The outputs of all steps, and the last state.

    Raises:
        RuntimeError: `params` has another length than the layers need.

    Example:
        >>> import oneflow as flow
        >>> layer, x = flow.nn.RNN(2, 3), flow.ones(4, 1, 2)
        >>> options = (True, 1, 0.0, False, False, False)
        >>> weights = list(layer.parameters())
        >>> outputs, last = flow._C.rnn_tanh(x, flow.zeros(1, 1, 3), weights, *options)
        >>> flow.equal(outputs, layer(x)[0])
        True
    """
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    outputs, states = run_stack("RNN_TANH", input, (hx,), params, *options)
    return outputs, states[0]


@function(method=False, namespace="_C")
def rnn_relu(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """The outputs of `nn.RNN` with ``nonlinearity="relu"``; arguments as of `rnn_tanh`.

    Example:
        >>> import oneflow as flow
        >>> weights = [flow.ones(1, 1), flow.ones(1, 1)]
        >>> options = (False, 1, 0.0, False, False, False)
        >>> flow._C.rnn_relu(flow.ones(3, 1, 1), flow.zeros(1, 1, 1), weights, *options)[1].item()
        3.0
    """
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    outputs, states = run_stack("RNN_RELU", input, (hx,), params, *options)
    return outputs, states[0]


@function(method=False, namespace="_C")
def gru(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """The outputs of `nn.GRU`; arguments as of `rnn_tanh`.

    Example:
        >>> import oneflow as flow
        >>> layer, x = flow.nn.GRU(2, 3), flow.ones(4, 1, 2)
        >>> options = (True, 1, 0.0, False, False, False)
        >>> weights = list(layer.parameters())
        >>> outputs, last = flow._C.gru(x, flow.zeros(1, 1, 3), weights, *options)
        >>> flow.equal(outputs, layer(x)[0])
        True
    """
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    outputs, states = run_stack("GRU", input, (hx,), params, *options)
    return outputs, states[0]


@function(method=False, namespace="_C")
def lstm(
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The outputs of `nn.LSTM`; arguments as of `rnn_tanh`, with two states in `hx`.

    Example:
        >>> import oneflow as flow
        >>> layer, x = flow.nn.LSTM(2, 3), flow.ones(4, 1, 2)
        >>> states, options = [flow.zeros(1, 1, 3)] * 2, (True, 1, 0.0, False, False, False)
        >>> outputs, *last = flow._C.lstm(x, states, list(layer.parameters()), *options)
        >>> flow.equal(outputs, layer(x)[0])
        True
    """
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    outputs, (hidden, cell) = run_stack("LSTM", input, tuple(hx), params, *options)
    return outputs, hidden, cell


def run_stack(
    mode: str,
    input: Tensor,
    states: tuple[Tensor, ...],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The outputs and last states of a stack of layers whose weights are in one list."""
    directions = 2 if bidirectional else 1
    has_projection = mode == "LSTM" and states[0].shape[-1] != states[1].shape[-1]
    count = (4 if has_biases else 2) + has_projection
    if len(params) != num_layers * directions * count:
        raise RuntimeError(
            f"`params` must have {count} tensors for each of {num_layers} layers and {directions} "
            f"directions, got {len(params)}"
        )
    parts = [params[start : start + count] for start in range(0, len(params), count)]
    weights = [_weights(part, has_biases) for part in parts]
    layers = [weights[start : start + directions] for start in range(0, len(weights), directions)]
    x = input.transpose(0, 1) if batch_first else input
    outputs, last = run_layers(mode, x, states, layers, dropout if train else 0.0, lengths)
    return outputs.transpose(0, 1) if batch_first else outputs, last


def _weights(part: Sequence[Tensor], has_biases: bool) -> Weights:
    """The parameters of one layer in one direction."""
    if has_biases:
        return Weights(*part)
    return Weights(*part[:2], projection=part[2] if len(part) > 2 else None)
