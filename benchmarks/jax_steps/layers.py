"""Shared parts of the vision models written by hand in JAX: plain `jax.numpy`, channels last.

Parameters and running statistics are made on the first, abstract, run of a model: `Maker` hands out
fresh ones in order, `Taker` the existing ones in the same order.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.jax_steps.step import Step


class Maker:
    """Makes parameters and statistics, as NumPy arrays, where a model first asks for them."""

    training = True

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.parameters, self.statistics, self.updated = [], [], []

    def weight(self, *shape):
        fan_in = int(np.prod(shape[:-1]))
        made = self.rng.standard_normal(shape, dtype=np.float32) * (2 / fan_in) ** 0.5
        return self._parameter(made)

    def constant(self, value, count):
        return self._parameter(np.full(count, value, np.float32))

    def _parameter(self, made):
        self.parameters.append(made)
        return made

    def running(self, count):
        pair = (np.zeros(count, np.float32), np.ones(count, np.float32))
        self.statistics.append(pair)
        return pair


class Taker:
    """Hands out existing parameters and statistics in the order they were made."""

    def __init__(self, parameters, statistics, training=True):
        self._parameters, self._statistics = iter(parameters), iter(statistics)
        self.training, self.updated = training, []

    def weight(self, *shape):
        return next(self._parameters)

    def constant(self, value, count):
        return next(self._parameters)

    def running(self, count):
        return next(self._statistics)


def conv(state, x, out, kernel=1, stride=1, groups=1, pad=None):
    """A convolution without bias."""
    weight = state.weight(kernel, kernel, x.shape[-1] // groups, out)
    pad = kernel // 2 if pad is None else pad
    return lax.conv_general_dilated(
        x,
        weight,
        (stride, stride),
        ((pad, pad), (pad, pad)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def norm(state, x):
    """Batch normalisation with running statistics."""
    count = x.shape[-1]
    scale, shift = state.constant(1.0, count), state.constant(0.0, count)
    old_mean, old_var = state.running(count)
    if not state.training:
        return (x - old_mean) * lax.rsqrt(old_var + 1e-5) * scale + shift
    wide = x.astype(jnp.float32)
    mean, var = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
    rows = x.size // count
    state.updated.append(
        (
            0.9 * old_mean + 0.1 * lax.stop_gradient(mean),
            0.9 * old_var + 0.1 * lax.stop_gradient(var) * rows / (rows - 1),
        )
    )
    normal = (wide - mean) * lax.rsqrt(var + 1e-5)
    return normal.astype(x.dtype) * scale + shift


def linear(state, x, out):
    """A linear layer over the last dimension."""
    return x @ state.weight(x.shape[-1], out) + state.constant(0.0, out)


def layer_norm(state, x):
    """Layer normalisation over the last dimension."""
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    count = x.shape[-1]
    normal = (x - mean) * lax.rsqrt(var + 1e-6)
    return normal * state.constant(1.0, count) + state.constant(0.0, count)


def _made(model, batch, size):
    """The parameters that a model made when it was first run, and images and labels."""
    maker = Maker()
    rng = np.random.default_rng(1)
    images = jnp.asarray(rng.standard_normal((batch, size, size, 3), dtype=np.float32))
    labels = jnp.asarray(rng.integers(0, 1000, batch))
    jax.eval_shape(lambda x: model(maker, x), images)
    return maker, images, labels


def inference_step(model, batch, size=224):
    """A function that returns the logits of ``model(state, images)``."""
    maker, images, _ = _made(model, batch, size)
    compiled = jax.jit(lambda p, statistics, x: model(Taker(p, statistics, training=False), x))
    state = jax.tree.map(jnp.array, [maker.parameters, maker.statistics])
    return lambda: compiled(*state, images)


def training_step(model, batch, size=224, dtype=jnp.float32):
    """A function that runs one donated SGD step with momentum of ``model(state, images)``.

    Args:
        model: the model.
        batch: how many images.
        size: of the images.
        dtype: what the model computes in.
    """
    maker, images, labels = _made(model, batch, size)

    def loss_of(parameters, statistics, images, labels):
        state = Taker([parameter.astype(dtype) for parameter in parameters], statistics)
        logits = model(state, images.astype(dtype)).astype(jnp.float32)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
        return -chosen.mean(), state.updated

    def update(parameters, momentum, statistics, images, labels):
        (loss, statistics), grads = jax.value_and_grad(loss_of, has_aux=True)(
            parameters, statistics, images, labels
        )
        momentum = [0.9 * m + g for m, g in zip(momentum, grads, strict=True)]
        parameters = [p - 0.01 * m for p, m in zip(parameters, momentum, strict=True)]
        return loss, parameters, momentum, statistics

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    momentum = [np.zeros_like(parameter) for parameter in maker.parameters]
    state = jax.tree.map(jnp.array, [maker.parameters, momentum, maker.statistics])
    return functools.partial(Step(compiled, state), images, labels)
