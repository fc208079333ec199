"""The language model of `models/lstm.py` as a hand-written, donated `jax.jit` step."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.jax_steps.step import sgd_step


def _layer(p, x):
    """One layer over sequences (length, batch, width)."""
    gates = x @ p["input"] + p["bias"]
    zeros = jnp.zeros(x.shape[1:], x.dtype)

    def advance(carry, gate):
        hidden, cell = carry
        i, f, g, o = jnp.split(gate + hidden @ p["hidden"], 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    return lax.scan(advance, (zeros, zeros), gates)[1]


def lstm_step(batch=32, length=64, width=256, vocabulary=512):
    """A function that runs one step and returns the loss."""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.standard_normal(shape, np.float32) * 0.1

    def layer():
        weights = {name: normal(width, 4 * width) for name in ("input", "hidden")}
        return weights | {"bias": np.zeros(4 * width, np.float32)}

    parameters = {
        "table": normal(vocabulary, width),
        "layers": [layer(), layer()],
        "head": normal(width, vocabulary),
        "head_bias": np.zeros(vocabulary, np.float32),
    }

    def loss_of(p, tokens, targets):
        x = p["table"][tokens.T]
        for weights in p["layers"]:
            x = _layer(weights, x)
        logits = jax.nn.log_softmax(x.swapaxes(0, 1) @ p["head"] + p["head_bias"])
        return -jnp.take_along_axis(logits, targets[..., None], axis=-1).mean()

    tokens, targets = (jnp.asarray(rng.integers(0, vocabulary, (batch, length))) for _ in range(2))
    return functools.partial(sgd_step(loss_of, parameters), tokens, targets)
