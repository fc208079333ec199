"""Recurrent layers over a whole sequence: one primitive per layer and direction.

The input's part of every step is one matrix product made beforehand; what is scanned here is only
the part that depends on the step before, with weights transposed once. A backward step multiplies
the gradients that arrive with slopes of the gates, which are computed for all steps before the
scan; the gradient of the recurrent weight is one product over all steps after it.

Shapes: ``input_part`` [S, B, G], states [B, H], recurrent weight [G, H], with S steps, B sequences,
H features and G = H times the number of gates. `lengths` [B], if given, freezes the state of a
sequence from its end on (in the reverse direction: until it begins).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import loops
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, Names
from oneflow.primitives.sharding.linearity import Linearity
from oneflow.primitives.traits import Precision


def _weight_gradient(grads, rows):
    """The sum over steps and sequences of the outer products."""
    return lax.dot_general(grads, rows, (((0, 1), (0, 1)), ((), ())))


def _options(rest: tuple, extra: bool) -> tuple:
    """The optional operands: the extra weight or bias, and the lengths."""
    return (rest[0] if extra else None), (rest[-1] if len(rest) > extra else None)


class Loop(NamedTuple):
    """The form of the loop over the steps; a platform's lowering may choose another one.

    Attributes:
        unroll: how many steps the body of the loop takes.
        read: gives a forward step its part of ``input_part``.
        column_blocks: how many products compute what an LSTM's state contributes to the gates.
    """

    unroll: int = 1
    read: Callable[[Any], Any] = lambda x: x
    column_blocks: int = 1

    def scan(self, body, state, inputs, lengths, reverse: bool):
        """Scan over the first dimension; `body` gets a mask of live rows last, or None."""
        steps = inputs[-1].shape[0]
        alive = None if lengths is None else (jnp.arange(steps)[:, None] < lengths)[..., None]
        return loops.scan(
            lambda s, x: body(s, *x), state, (inputs, alive), reverse=reverse, unroll=self.unroll
        )


_LOOP = Loop()


def _shared(*options: str) -> Callable[[Callable], Callable]:
    """A function of `jax.jit`, which a program has once for all layers of a form.

    Args:
        options: the names of arguments that are no arrays; a loop, which comes first, is none.
    """
    return functools.partial(jax.jit, static_argnums=0, static_argnames=options)


def _plus(value, gradient):
    """The sum; no gradient arrived where there is None."""
    return value if gradient is None else value + gradient


def _with_missing(operands: tuple, has_gradient: tuple[bool, ...]) -> list:
    """The first operands in full: None for each that was left out."""
    remaining = iter(operands)
    return [*(next(remaining) if is_present else None for is_present in has_gradient), *remaining]


def _linear_in_gradients(operation: Operation) -> Linearity:
    """A backward pass is linear in the gradients that it is given, which come first."""
    return (frozenset(range(sum(operation.attributes["has_gradient"]))),)


def _keep(alive, new, old):
    return new if alive is None else jnp.where(alive, new, old)


def _present_gradients(gradients: tuple) -> tuple[tuple[bool, ...], list]:
    """The present gradients, and flags that say which ones they are: often only the states'."""
    return tuple(g is not None for g in gradients), [g for g in gradients if g is not None]


def _shifted(first, states, reverse: bool):
    """The state before every step."""
    if reverse:
        return jnp.concatenate([states[1:], first[None]])
    return jnp.concatenate([first[None], states[:-1]])


def _batch_axes(
    operation: Operation, states: tuple[int, ...], gradients: tuple[int, ...] = ()
) -> Axes:
    """Sequences are independent; the weight's gradient is a sum over them.

    Args:
        operation: layer or backward pass.
        states: operands of shape [B, H], counted behind the gradients that are given.
        gradients: results of that shape.
    """
    last = len(operation.in_specs) - 1
    first = sum(operation.attributes.get("has_gradient", ()))
    has_lengths = not operation.in_specs[last].dtype.is_floating_point

    def names(spec: TensorSpec, is_state: bool, is_lengths: bool = False) -> Names:
        if spec.ndim == 3:
            return (None, "batch", None)
        return (
            ("batch", *(None,) * (spec.ndim - 1)) if is_state or is_lengths else (None,) * spec.ndim
        )

    inputs = [
        names(spec, position - first in states, has_lengths and position == last)
        for position, spec in enumerate(operation.in_specs)
    ]
    outputs = [
        names(spec, position in gradients) for position, spec in enumerate(operation.out_specs)
    ]
    return Axes(tuple(inputs), tuple(outputs))


# --- LSTM: gates are input, forget, cell, output. `extra` is the projection of the result.


def _lstm_gate_values(into):
    """The four gates, from what goes into them."""
    i, f, g, o = jnp.split(into, 4, -1)
    return lax.logistic(i), lax.logistic(f), jnp.tanh(g), lax.logistic(o)


def _lstm_cell(into, c):
    """The states after a step, from what goes into its gates."""
    i, f, g, o = _lstm_gate_values(into)
    c = f * c + i * g
    return o * jnp.tanh(c), c


@_shared("reverse", "extra")
def _lstm(loop, input_part, h0, c0, weight, *rest, reverse: bool = False, extra: bool = False):
    """States ``h`` and ``c`` after every step and what went into the gates, all [S, B, ...]."""
    projection, lengths = _options(rest, extra)
    projection = None if projection is None else projection.T
    weights = jnp.split(weight.T, loop.column_blocks, -1)

    def body(state, inputs, alive):
        h, c = state
        input_blocks = jnp.split(loop.read(inputs[0]), loop.column_blocks, -1)
        parts = [x + h @ block for x, block in zip(input_blocks, weights, strict=True)]
        into = jnp.concatenate(parts, -1)
        new_h, new_c = _lstm_cell(into, c)
        if projection is not None:
            new_h = new_h @ projection
        new_h, new_c = _keep(alive, new_h, h), _keep(alive, new_c, c)
        return (new_h, new_c), (new_h, new_c, _keep(alive, into, 0))

    return loop.scan(body, (h0, c0), (input_part,), lengths, reverse)[1]


@_shared("has_gradient", "reverse", "extra")
def _lstm_backward(
    loop, *operands, has_gradient: tuple[bool, ...], reverse: bool = False, extra: bool = False
):
    g_h, g_c, g_into, h0, c0, weight, hs, cs, into, *rest = _with_missing(operands, has_gradient)
    projection, lengths = _options(tuple(rest), extra)
    i, f, g, o = _lstm_gate_values(into)
    tanh_cs = jnp.tanh(cs)
    # Slopes of c in the inputs of the first three gates; of ``o * tanh(c)`` in that of the last.
    slopes = [
        g * i * (1 - i),
        _shifted(c0, cs, reverse) * f * (1 - f),
        i * (1 - g * g),
        tanh_cs * o * (1 - o),
    ]
    slopes = jnp.concatenate(slopes, -1)
    slope = o * (1 - tanh_cs * tanh_cs)

    def body(carry, inputs, alive):
        g_h, g_c, g_into, slopes, slope, f = inputs
        dh, present = _plus(carry[0], g_h), _plus(carry[1], g_c)
        dm = dh if projection is None else dh @ projection
        dc = present + dm * slope
        before = _plus(jnp.concatenate([dc, dc, dc, dm], -1) * slopes, g_into)
        before = _keep(alive, before, 0)
        carry = (_keep(alive, before @ weight, dh), _keep(alive, dc * f, present))
        return carry, (before, _keep(alive, dh, 0))

    zeros = (jnp.zeros_like(h0), jnp.zeros_like(c0))
    inputs = (g_h, g_c, g_into, slopes, slope, f)
    (dh0, dc0), (before, grad_hs) = loop.scan(body, zeros, inputs, lengths, not reverse)
    grads = (before, dh0, dc0, _weight_gradient(before, _shifted(h0, hs, reverse)))
    if projection is None:
        return grads
    return (*grads, _weight_gradient(grad_hs, o * tanh_cs))


lstm = primitive(
    "lstm",
    functools.partial(_lstm, _LOOP),
    axes=lambda operation: _batch_axes(operation, states=(1, 2)),
    precision=Precision.HALF,
)
lstm_backward = primitive(
    "lstm_backward",
    functools.partial(_lstm_backward, _LOOP),
    axes=lambda operation: _batch_axes(operation, states=(0, 1), gradients=(1, 2)),
    linear=_linear_in_gradients,
)


def _lstm_gradient(g, h0, c0, weight, rest, out, reverse, extra):
    has_gradient, present = _present_gradients(g)
    grads = lstm_backward(
        *present,
        h0,
        c0,
        weight,
        *out,
        *rest,
        has_gradient=has_gradient,
        reverse=reverse,
        extra=extra,
    )
    return [*grads, *[None] * (4 + len(rest) - len(grads))]


lstm.gradient(_lstm_gradient, materialize_grads=False)
lstm_cell = primitive(
    "lstm_cell",
    _lstm_cell,
    axes="... _, ... _ -> ... _, ... _",
    precision=Precision.HALF,
)

# --- GRU: gates are reset, update, new. `extra` is the bias of the recurrent part.


def _gru_cell(input_part, hidden_part, h):
    """The next state; the gates and the recurrent part of the new gate."""
    r, z, n = jnp.split(input_part, 3, -1)
    hidden_r, hidden_z, hidden_n = jnp.split(hidden_part, 3, -1)
    r, z = lax.logistic(r + hidden_r), lax.logistic(z + hidden_z)
    n = jnp.tanh(n + r * hidden_n)
    return n + z * (h - n), jnp.concatenate([r, z, n, hidden_n], -1)


@_shared("reverse", "extra")
def _gru(loop, input_part, h0, weight, *rest, reverse: bool = False, extra: bool = False):
    """The state after every step and what the backward pass needs, [S, B, H] and [S, B, 4 H]."""
    bias, lengths = _options(rest, extra)
    weight = weight.T

    def body(h, inputs, alive):
        hidden_part = h @ weight
        hidden_part = hidden_part if bias is None else hidden_part + bias
        new, gate_values = _gru_cell(loop.read(inputs[0]), hidden_part, h)
        new = _keep(alive, new, h)
        return new, (new, _keep(alive, gate_values, 0))

    return loop.scan(body, h0, (input_part,), lengths, reverse)[1]


@_shared("has_gradient", "reverse", "extra")
def _gru_backward(
    loop, *operands, has_gradient: tuple[bool, ...], reverse: bool = False, extra: bool = False
):
    g_h, g_gate_values, h0, weight, hs, gate_values, *rest = _with_missing(operands, has_gradient)
    bias, lengths = _options(tuple(rest), extra)
    states = _shifted(h0, hs, reverse)
    r, z, n, hidden_n = jnp.split(gate_values, 4, -1)
    inner_r, inner_z, inner_n = r * (1 - r), z * (1 - z), 1 - n * n
    by_n = (1 - z) * inner_n
    slopes = [by_n * hidden_n * inner_r, (states - n) * inner_z, by_n]
    slopes = jnp.concatenate(slopes, -1)
    added = g_hidden = None
    if g_gate_values is not None:
        g_r, g_z, g_n, g_hidden = jnp.split(g_gate_values, 4, -1)
        dn = g_n * inner_n
        dr = (g_r + dn * hidden_n) * inner_r
        added = jnp.concatenate([dr, g_z * inner_z, dn], -1)

    def body(carry, inputs, alive):
        g_h, added, g_hidden, slopes, r, z = inputs
        dh = _plus(carry, g_h)
        before = _plus(jnp.concatenate([dh, dh, dh], -1) * slopes, added)
        dr, dz, dn = jnp.split(before, 3, -1)
        hidden_part = jnp.concatenate([dr, dz, _plus(dn * r, g_hidden)], -1)
        before, hidden_part = _keep(alive, before, 0), _keep(alive, hidden_part, 0)
        carry = _keep(alive, dh * z + hidden_part @ weight, dh)
        return carry, (before, hidden_part)

    inputs = (g_h, added, g_hidden, slopes, r, z)
    dh0, (before, hidden_part) = loop.scan(body, jnp.zeros_like(h0), inputs, lengths, not reverse)
    grads = (before, dh0, _weight_gradient(hidden_part, states))
    return grads if bias is None else (*grads, jnp.sum(hidden_part, (0, 1)))


gru = primitive(
    "gru",
    functools.partial(_gru, _LOOP),
    axes=lambda operation: _batch_axes(operation, states=(1,)),
    precision=Precision.HALF,
)
gru_backward = primitive(
    "gru_backward",
    functools.partial(_gru_backward, _LOOP),
    axes=lambda operation: _batch_axes(operation, states=(0,), gradients=(1,)),
    linear=_linear_in_gradients,
)


def _gru_gradient(g, h0, weight, rest, out, reverse, extra):
    has_gradient, present = _present_gradients(g)
    grads = gru_backward(
        *present, h0, weight, *out, *rest, has_gradient=has_gradient, reverse=reverse, extra=extra
    )
    return [*grads, *[None] * (3 + len(rest) - len(grads))]


gru.gradient(_gru_gradient, materialize_grads=False)
gru_cell = primitive(
    "gru_cell",
    lambda input_part, hidden_part, h: _gru_cell(input_part, hidden_part, h)[0],
    axes="... _, ... _, ... _ -> ... _",
    precision=Precision.HALF,
)

# --- the plain recurrent layer, with tanh or relu


@_shared("reverse", "relu")
def _rnn(loop, input_part, h0, weight, *lengths, reverse: bool = False, relu: bool = False):
    """The state after every step, [S, B, H]."""
    weight = weight.T

    def body(h, inputs, alive):
        new = loop.read(inputs[0]) + h @ weight
        new = _keep(alive, jnp.maximum(new, 0) if relu else jnp.tanh(new), h)
        return new, new

    return loop.scan(body, h0, (input_part,), lengths[0] if lengths else None, reverse)[1]


@_shared("reverse", "relu")
def _rnn_backward(loop, g, h0, weight, hs, *lengths, reverse: bool = False, relu: bool = False):
    def body(carry, inputs, alive):
        g_h, h = inputs
        dh = carry + g_h
        before = jnp.where(h > 0, dh, 0) if relu else dh * (1 - h * h)
        before = _keep(alive, before, 0)
        return _keep(alive, before @ weight, dh), before

    limits = lengths[0] if lengths else None
    dh0, before = loop.scan(body, jnp.zeros_like(h0), (g, hs), limits, not reverse)
    return before, dh0, _weight_gradient(before, _shifted(h0, hs, reverse))


rnn = primitive(
    "rnn",
    functools.partial(_rnn, _LOOP),
    axes=lambda operation: _batch_axes(operation, states=(1,)),
    precision=Precision.HALF,
)
rnn_backward = primitive(
    "rnn_backward",
    functools.partial(_rnn_backward, _LOOP),
    axes=lambda operation: _batch_axes(operation, states=(1,), gradients=(1,)),
    linear=("g",),
)


def _rnn_gradient(g, h0, weight, lengths, out, reverse, relu):
    grads = rnn_backward(g, h0, weight, out, *lengths, reverse=reverse, relu=relu)
    return [*grads, *[None] * len(lengths)]


rnn.gradient(_rnn_gradient)


# Platforms with another loop:
#
# - The CPU takes four steps in the loop's body: XLA fuses across them, which takes 15 % off a small
#   LSTM. A step first copies its part of the input. XLA would otherwise read it in place, looking
#   up the number of the step for every element: LLVM does not vectorise such loops, and a step's
#   sigmoids and tangents take 75 us instead of 20 (32 sequences of 256 features). And an LSTM makes
#   two products in each step: XLA's library divides one of that many columns badly among two cores
#   (112 us against 77 us for 32 sequences and 256 features).
_LOOPS = {"cpu": Loop(unroll=4, read=materialize_array, column_blocks=2)}

for _primitive, _implementation in (
    (lstm, _lstm),
    (lstm_backward, _lstm_backward),
    (gru, _gru),
    (gru_backward, _gru_backward),
    (rnn, _rnn),
    (rnn_backward, _rnn_backward),
):
    for _platform, _loop in _LOOPS.items():
        _primitive.lowering(_platform)(functools.partial(_implementation, _loop))
