"""Training steps of ever new shapes as hand-written, donated `jax.jit` steps.

`jax.jit` compiles for each shape. Each function here returns one that runs a step on a batch and
returns the loss; the networks are those of `benchmarks/cold.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.jax_steps import gpt
from benchmarks.jax_steps.layers import Maker, Taker, conv, linear, norm
from benchmarks.jax_steps.step import Step, sgd_step


def _cross_entropy(logits, labels):
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
    return -chosen.mean()


def gpt_step():
    """The small GPT of 128 features; takes tokens and labels."""
    return gpt.make_step(width=128, layers=2, context=256)


def embedding_step(vocabulary=100, width=16):
    """Embedding and linear layer; takes tokens, which are the labels, too."""
    rng = np.random.default_rng(0)
    parameters = {
        "table": rng.standard_normal((vocabulary, width), np.float32),
        "weight": rng.standard_normal((width, vocabulary), np.float32),
        "bias": np.zeros(vocabulary, np.float32),
    }

    def loss_of(p, tokens):
        return _cross_entropy(p["table"][tokens] @ p["weight"] + p["bias"], tokens)

    return sgd_step(loss_of, parameters)


def lstm_step(vocabulary=512, width=64):
    """LSTM over padded sequences of some lengths; takes tokens, labels and lengths."""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32) * 0.1

    parameters = {
        "table": normal(vocabulary, width),
        "input": normal(width, 4 * width),
        "hidden": normal(width, 4 * width),
        "bias": np.zeros(4 * width, np.float32),
        "head": normal(width, vocabulary),
        "head_bias": np.zeros(vocabulary, np.float32),
    }

    def loss_of(p, tokens, labels, lengths):
        gates = p["table"][tokens.T] @ p["input"] + p["bias"]
        zeros = jnp.zeros((len(tokens), width))

        def advance(carry, given):
            hidden, cell = carry
            place, gate = given
            i, f, g, o = jnp.split(gate + hidden @ p["hidden"], 4, axis=-1)
            new_cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            new_hidden = jax.nn.sigmoid(o) * jnp.tanh(new_cell)
            inside = (place < lengths)[:, None]
            carry = jnp.where(inside, new_hidden, hidden), jnp.where(inside, new_cell, cell)
            return carry, jnp.where(inside, new_hidden, 0.0)

        _, hidden = lax.scan(advance, (zeros, zeros), (jnp.arange(len(gates)), gates))
        return _cross_entropy(hidden.swapaxes(0, 1) @ p["head"] + p["head_bias"], labels)

    return sgd_step(loss_of, parameters)


def _small_network(state, x):
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        x = conv(state, x, width, 3, stride) + state.constant(0.0, width)
        x = jax.nn.relu(norm(state, x))
    return linear(state, x.mean((1, 2)), 10)


def image_step():
    """Three convolutions with batch normalisation, SGD with momentum; takes images and labels."""
    maker = Maker()
    jax.eval_shape(lambda x: _small_network(maker, x), jnp.zeros((4, 32, 32, 3)))

    def loss_of(parameters, statistics, images, labels):
        state = Taker(parameters, statistics)
        return _cross_entropy(_small_network(state, images), labels), state.updated

    def update(parameters, momentum, statistics, images, labels):
        (loss, statistics), grads = jax.value_and_grad(loss_of, has_aux=True)(
            parameters, statistics, images, labels
        )
        momentum = [0.9 * m + g for m, g in zip(momentum, grads, strict=True)]
        parameters = [p - 0.1 * m for p, m in zip(parameters, momentum, strict=True)]
        return loss, parameters, momentum, statistics

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    momentum = [np.zeros_like(parameter) for parameter in maker.parameters]
    state = jax.tree.map(jnp.array, [maker.parameters, momentum, maker.statistics])
    return Step(compiled, state)
