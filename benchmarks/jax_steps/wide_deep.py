"""`models/wide_deep.py` by hand: tables of categories, a perceptron of them and numbers, Adam."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.jax_steps.layers import Maker, Taker, linear
from benchmarks.jax_steps.step import Step, adamw


def wide_deep(state, categories, dense, rows, width):
    """From categories (batch, fields) and numbers (batch, count) to logits (batch, 1)."""
    fields = categories.shape[1]
    offsets = jnp.arange(fields) * rows
    wide = jnp.take(state.weight(fields * rows, 1), categories + offsets, axis=0).sum(1)
    tables = [state.weight(rows, width) for _ in range(fields)]
    columns = [jnp.take(table, categories[:, i], axis=0) for i, table in enumerate(tables)]
    x = jnp.concatenate([*columns, dense], 1)
    x = jax.nn.relu(linear(state, x, 256))
    x = jax.nn.relu(linear(state, x, 128))
    return wide + linear(state, x, 1)


def build(batch=256, fields=26, rows=1000, width=16, numbers=13):
    """A function that runs one step and returns the loss."""
    rng = np.random.default_rng(0)
    categories = jnp.asarray(rng.integers(0, rows, (batch, fields)))
    dense = jnp.asarray(rng.standard_normal((batch, numbers)), jnp.float32)
    clicks = jnp.asarray(rng.integers(0, 2, (batch, 1)), jnp.float32)
    maker = Maker()
    run = functools.partial(wide_deep, rows=rows, width=width)
    jax.eval_shape(lambda *inputs: run(maker, *inputs), categories, dense)

    def loss_of(p, categories, dense, clicks):
        logits = run(Taker(p, []), categories, dense)
        return (jnp.logaddexp(0, logits) - clicks * logits).mean()

    def update(p, first, second, count, *inputs):
        loss, gradients = jax.value_and_grad(loss_of)(p, *inputs)
        return loss, *adamw(p, first, second, count, gradients, rate=1e-3, decay=0)

    p = [jnp.asarray(parameter) for parameter in maker.parameters]
    moments = ([jnp.zeros_like(x) for x in p] for _ in range(2))
    step = Step(jax.jit(update, donate_argnums=(0, 1, 2)), [p, *moments, jnp.float32(0)])
    return functools.partial(step, categories, dense, clicks)
