"""PyTorch's recurrent layers as functions: of padded sequences, and of packed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.builtins import recurrent
from oneflow.builtins.recurrent import run_stack
from oneflow.nn.packed import PackedSequence, gathered, to_padded
from oneflow.tensor.tensor import Tensor


def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the outputs and both last states of `nn.LSTM`, of padded or of packed sequences.

    Args:
        *args: ``input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
            batch_first``; of packed sequences ``data, batch_sizes, hx, params, ...`` without the
            last.
        **kwargs: the same by name.
    """
    is_packed = "batch_sizes" in kwargs or (len(args) > 1 and isinstance(args[1], Tensor))
    if not is_packed:
        return recurrent.lstm(*args, **kwargs)
    outputs, (hidden, cell) = _packed("LSTM", *args, **kwargs)
    return outputs, hidden, cell


def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Return the outputs and the last state of `nn.GRU`; arguments as of `lstm`."""
    return _one_state("GRU", recurrent.gru, args, kwargs)


def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Return the outputs and the last state of `nn.RNN` with tanh; arguments as of `lstm`."""
    return _one_state("RNN_TANH", recurrent.rnn_tanh, args, kwargs)


def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Return the outputs and the last state of `nn.RNN` with relu; arguments as of `lstm`."""
    return _one_state("RNN_RELU", recurrent.rnn_relu, args, kwargs)


def _one_state(mode: str, padded: Any, args: Any, kwargs: Any) -> tuple[Tensor, Tensor]:
    is_packed = "batch_sizes" in kwargs or (len(args) > 2 and isinstance(args[2], Tensor))
    if not is_packed:
        return padded(*args, **kwargs)
    outputs, (last,) = _packed(mode, *args, **kwargs)
    return outputs, last


def _packed(
    mode: str,
    data: Tensor,
    batch_sizes: Tensor,
    hx: Any,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The outputs, packed as the data, and the last states."""
    states = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    padded, lengths = to_padded(PackedSequence(data, batch_sizes))
    options = (has_biases, num_layers, dropout, train, bidirectional, False)
    outputs, last = run_stack(mode, padded, states, params, *options, lengths=lengths)
    return gathered(outputs, batch_sizes.numpy()), last


__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]
