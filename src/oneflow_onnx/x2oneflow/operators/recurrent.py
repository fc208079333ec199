"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import operator

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class RecurrentAttributes:
    """The attributes that all recurrent operators share."""

    functions: list[Function]
    clip: float
    direction: str
    steps_second: bool

    @property
    def directions(self) -> list[bool]:
        """For every direction whether it reads backwards."""
        return {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[
            self.direction
        ]


def settings_of(
    defaults: Sequence[str],
    activations: Sequence[str] | None,
    alpha: Sequence[float] | None,
    beta: Sequence[float] | None,
    clip: float,
    direction: str,
    layout: int,
) -> RecurrentAttributes:
    """Return what all recurrent operators share, with the defaults of one of them."""
    count = 2 if direction == "bidirectional" else 1
    names = list(activations) if activations else list(defaults) * count
    alpha_values, betas = iter(alpha or ()), iter(beta or ())
    functions = [_activation(name, alpha_values, betas) for name in names]
    return RecurrentAttributes(functions, clip, direction, bool(layout))


# Default values of the parameters of activation functions, `alpha` and `beta`.
_PARAMETERS: dict[str, tuple[float | None, float | None]] = {
    "Affine": (1.0, 0.0),
    "Elu": (1.0, None),
    "HardSigmoid": (0.2, 0.5),
    "LeakyRelu": (0.01, None),
    "ScaledTanh": (1.0, 1.0),
    "ThresholdedRelu": (1.0, None),
}
_PLAIN: dict[str, Function] = {
    "Relu": F.relu,
    "Sigmoid": flow.sigmoid,
    "Softplus": F.softplus,
    "Softsign": F.softsign,
    "Tanh": flow.tanh,
}
_WITH_PARAMETERS: dict[str, Callable[[Tensor, Any, Any], Tensor]] = {
    "Affine": lambda x, a, b: x * a + b,
    "Elu": lambda x, a, b: F.elu(x, a),
    "HardSigmoid": lambda x, a, b: flow.clamp(x * a + b, 0, 1),
    "LeakyRelu": lambda x, a, b: F.leaky_relu(x, a),
    "ScaledTanh": lambda x, a, b: flow.tanh(x * b) * a,
    "ThresholdedRelu": lambda x, a, b: flow.where(x >= a, x, flow.zeros_like(x)),
}


def _activation(name: str, alpha_values: Iterator[float], betas: Iterator[float]) -> Function:
    """Return a function by its name, which ONNX writes in any case."""
    keys = {key.lower(): key for key in [*_PLAIN, *_WITH_PARAMETERS]}
    if name.lower() not in keys:
        raise NotImplementedError(f"activation function `{name}` of a recurrent operator")
    key = keys[name.lower()]
    if key in _PLAIN:
        return _PLAIN[key]
    alpha, beta = _PARAMETERS[key]
    alpha = next(alpha_values, alpha) if alpha is not None else None
    beta = next(betas, beta) if beta is not None else None
    function = _WITH_PARAMETERS[key]
    return lambda x: function(x, alpha, beta)


# One step of a cell: the input's share of the gates and the states before it, to the states after.
Cell = Callable[[Tensor, list[Tensor]], list[Tensor]]


def _clamped(x: Tensor, clip: float) -> Tensor:
    return flow.clamp(x, -clip, clip) if clip else x


def _run_direction(
    gates: Tensor, states: list[Tensor], cell: Cell, backwards: bool, lengths: Tensor | None
) -> tuple[Tensor, list[Tensor]]:
    """Run a cell over all steps: (steps, batch, hidden) of outputs, and the last states."""
    steps = gates.shape[0]
    outputs: list[Tensor] = [gates] * steps
    for step in reversed(range(steps)) if backwards else range(steps):
        after = cell(gates[step], states)
        if lengths is None:
            states = after
            outputs[step] = after[0]
            continue
        # Past its end a sequence keeps its states and puts out zeros.
        running = (lengths > step).reshape(-1, 1)
        pairs = zip(after, states, strict=True)
        states = [flow.where(running, new, old) for new, old in pairs]
        outputs[step] = flow.where(running, after[0], flow.zeros_like(after[0]))
    return flow.stack(outputs, 0), states


def _run_layer(
    x: Tensor,
    settings: RecurrentAttributes,
    initial: Sequence[Tensor | None],
    lengths: Tensor | None,
    hidden: int,
    make_cell: Callable[[int], tuple[Callable[[Tensor], Tensor], Cell]],
) -> tuple[Tensor, ...]:
    """Run all directions: outputs (steps, directions, batch, hidden), and the last states."""
    if settings.steps_second:
        x = x.transpose(0, 1)
    batch = x.shape[1]
    outputs, last_states = [], []
    for index, backwards in enumerate(settings.directions):
        gates, cell = make_cell(index)
        states = [
            flow.zeros(batch, hidden, dtype=x.dtype, device=x.device)
            if state is None
            else (state[:, index] if settings.steps_second else state[index])
            for state in initial
        ]
        out, last = _run_direction(gates(x), states, cell, backwards, lengths)
        outputs.append(out)
        last_states.append(last)
    y = flow.stack(outputs, 1)
    final = [flow.stack([last[k] for last in last_states], 0) for k in range(len(initial))]
    if settings.steps_second:
        y, final = y.permute(2, 0, 1, 3), [last.transpose(0, 1) for last in final]
    return (y, *final)


def _biases(bias: Tensor | None, index: int, like: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Return the biases of the input's and the state's share of the gates."""
    if bias is None:
        zeros = flow.zeros(width, dtype=like.dtype, device=like.device)
        return zeros, zeros
    return bias[index][:width], bias[index][width:]


@operator("RNN", constant=(4, 5))
def rnn(
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Elman network: ``h = f(x @ W.T + h @ R.T + b)``."""
    settings = settings_of(
        ["Tanh"], activations, activation_alpha, activation_beta, clip, direction, layout
    )
    hidden = recurrence.shape[-1]

    def make_cell(index: int) -> tuple[Callable[[Tensor], Tensor], Cell]:
        input_bias, state_bias = _biases(bias, index, x, hidden)
        function = settings.functions[index]

        def cell(gates: Tensor, states: list[Tensor]) -> list[Tensor]:
            total = gates + F.linear(states[0], recurrence[index])
            return [function(_clamped(total, clip))]

        return lambda inputs: F.linear(inputs, weight[index], input_bias + state_bias), cell

    return _run_layer(x, settings, [initial_h], lengths, hidden, make_cell)


@operator("GRU", constant=(4, 5))
def gru(
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Gated recurrent unit; the gates are stored in the order update, reset, hidden."""
    defaults = ["Sigmoid", "Tanh"]
    settings = settings_of(
        defaults, activations, activation_alpha, activation_beta, clip, direction, layout
    )
    hidden = recurrence.shape[-1]

    def make_cell(index: int) -> tuple[Callable[[Tensor], Tensor], Cell]:
        input_bias, state_bias = _biases(bias, index, x, 3 * hidden)
        gate, squash = settings.functions[2 * index : 2 * index + 2]
        matrix = recurrence[index]

        def cell(gates: Tensor, states: list[Tensor]) -> list[Tensor]:
            (h,) = states
            by_two = F.linear(h, matrix[: 2 * hidden], state_bias[: 2 * hidden])
            both = gate(_clamped(gates[:, : 2 * hidden] + by_two, clip))
            update, reset = both[:, :hidden], both[:, hidden:]
            last, last_bias = matrix[2 * hidden :], state_bias[2 * hidden :]
            if linear_before_reset:
                share = reset * F.linear(h, last, last_bias)
            else:
                share = F.linear(reset * h, last, last_bias)
            candidate = squash(_clamped(gates[:, 2 * hidden :] + share, clip))
            return [(1 - update) * candidate + update * h]

        return lambda inputs: F.linear(inputs, weight[index], input_bias), cell

    return _run_layer(x, settings, [initial_h], lengths, hidden, make_cell)


LSTM_FUNCTIONS = ["Sigmoid", "Tanh", "Tanh"]


@operator("LSTM", constant=(4, 5, 6))
def lstm(
    x: Tensor,
    weight: Tensor,
    recurrence: Tensor,
    bias: Tensor | None = None,
    lengths: Tensor | None = None,
    initial_h: Tensor | None = None,
    initial_c: Tensor | None = None,
    peepholes: Tensor | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor, ...]:
    """Long short-term memory; the gates are stored in the order input, output, forget, cell."""
    settings = settings_of(
        LSTM_FUNCTIONS, activations, activation_alpha, activation_beta, clip, direction, layout
    )

    def products(index: int) -> tuple[Function, Function]:
        return (
            lambda inputs: F.linear(inputs, weight[index]),
            lambda state: F.linear(state, recurrence[index]),
        )

    operands = LstmOperands(x, products, recurrence.shape[-1], bias, peepholes)
    return run_lstm(operands, settings, [initial_h, initial_c], lengths, bool(input_forget))


@dataclass(frozen=True)
class LstmOperands:
    """The operands of an LSTM.

    Attributes:
        x: the inputs.
        products: for a direction, the products of inputs and of a state with their matrices.
        hidden: number of hidden units.
        bias: the biases of inputs and state, one after the other.
        peepholes: weights of the cell in the gates.
    """

    x: Tensor
    products: Callable[[int], tuple[Function, Function]]
    hidden: int
    bias: Tensor | None
    peepholes: Tensor | None


def run_lstm(
    operands: LstmOperands,
    settings: RecurrentAttributes,
    initial: Sequence[Tensor | None],
    lengths: Tensor | None,
    input_forget: bool,
) -> tuple[Tensor, ...]:
    """Run an LSTM: all outputs, the last output and the last cell."""
    x, hidden, peepholes, clip = operands.x, operands.hidden, operands.peepholes, settings.clip

    def make_cell(index: int) -> tuple[Callable[[Tensor], Tensor], Cell]:
        of_inputs, of_state = operands.products(index)
        input_bias, state_bias = _biases(operands.bias, index, x, 4 * hidden)
        gate, squash_in, squash_out = settings.functions[3 * index : 3 * index + 3]
        peephole_weights = None if peepholes is None else peepholes[index].reshape(3, hidden)

        def cell(gates: Tensor, states: list[Tensor]) -> list[Tensor]:
            h, c = states
            total = gates + of_state(h)
            i, o, f, g = flow.split(total, hidden, -1)
            if peephole_weights is not None:
                i, f = i + peephole_weights[0] * c, f + peephole_weights[2] * c
            i = gate(_clamped(i, clip))
            f = 1 - i if input_forget else gate(_clamped(f, clip))
            c = f * c + i * squash_in(_clamped(g, clip))
            if peephole_weights is not None:
                o = o + peephole_weights[1] * c
            return [gate(_clamped(o, clip)) * squash_out(c), c]

        return lambda inputs: of_inputs(inputs) + (input_bias + state_bias), cell

    return _run_layer(x, settings, initial, lengths, hidden, make_cell)
