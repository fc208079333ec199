"""The network of `models/unet.py` as a hand-written, donated `jax.jit` step, channels last."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.jax_steps import layers
from benchmarks.jax_steps.gpt import adamw_step
from benchmarks.jax_steps.layers import Maker, Taker, linear

silu = jax.nn.silu


def _conv(state, x, out, kernel=3, stride=1):
    """A convolution with bias."""
    return layers.conv(state, x, out, kernel, stride) + state.constant(0.0, out)


def _group_norm(state, x, groups=32):
    """Group normalisation, with statistics in float32, as flax has it."""
    batch, height, columns, width = x.shape
    wide = x.astype(jnp.float32).reshape(batch, height, columns, groups, width // groups)
    mean = wide.mean((1, 2, 4), keepdims=True)
    var = jnp.maximum(jnp.square(wide).mean((1, 2, 4), keepdims=True) - jnp.square(mean), 0)
    normal = ((wide - mean) * jax.lax.rsqrt(var + 1e-5)).reshape(x.shape)
    return (normal * state.constant(1.0, width) + state.constant(0.0, width)).astype(x.dtype)


def _residual(state, x, out, time):
    y = _conv(state, silu(_group_norm(state, x)), out)
    y = y + linear(state, silu(time), out)[:, None, None]
    skip = _conv(state, x, out, 1) if x.shape[-1] != out else x
    return skip + _conv(state, silu(_group_norm(state, y)), out)


def _attention(state, x, heads, implementation):
    batch, height, columns, width = x.shape
    y = _group_norm(state, x).reshape(batch, height * columns, width)
    q, k, v = (
        part.reshape(batch, -1, heads, width // heads)
        for part in jnp.split(linear(state, y, 3 * width), 3, axis=-1)
    )
    mixed = jax.nn.dot_product_attention(q, k, v, implementation=implementation)
    return x + linear(state, mixed.reshape(y.shape), width).reshape(x.shape)


def _time(state, times, width, dtype):
    half = width // 2
    rates = jnp.exp(jnp.arange(half) * (-math.log(10000) / half))
    angles = times[:, None] * rates
    y = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(dtype)
    return linear(state, silu(linear(state, y, 4 * width)), 4 * width)


def unet(state, x, times, width, factors, depth, heads, implementation=None):
    """The noise in images (batch, height, width, 3) at some times."""

    def stage(x, out, level):
        x = _residual(state, x, out, time)
        return _attention(state, x, heads, implementation) if level else x

    time = _time(state, times, width, x.dtype)
    x = _conv(state, x, width)
    skips = [x]
    for level, factor in enumerate(factors):
        for _ in range(depth):
            x = stage(x, width * factor, level)
            skips.append(x)
        if level < len(factors) - 1:
            x = _conv(state, x, x.shape[-1], stride=2)
            skips.append(x)
    x = _residual(state, x, x.shape[-1], time)
    x = _attention(state, x, heads, implementation)
    x = _residual(state, x, x.shape[-1], time)
    for level, factor in reversed(list(enumerate(factors))):
        for _ in range(depth + 1):
            x = stage(jnp.concatenate([x, skips.pop()], axis=-1), width * factor, level)
        if level:
            x = _conv(state, jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2), x.shape[-1])
    return _conv(state, silu(_group_norm(state, x)), 3)


def build(
    batch=16,
    size=64,
    width=128,
    factors=(1, 2, 2),
    depth=2,
    heads=4,
    dtype=jnp.float32,
    implementation=None,
):
    """A function that runs one step and returns the loss.

    Args:
        dtype: what it computes in.
        implementation: of attention, as `jax.nn.dot_product_attention` has it.
    """
    run = functools.partial(unet, width=width, factors=factors, depth=depth, heads=heads)
    rng = np.random.default_rng(1)
    images, noise = (
        jnp.asarray(rng.standard_normal((batch, size, size, 3), dtype=np.float32)) for _ in range(2)
    )
    times = jnp.asarray(rng.integers(0, 1000, batch))
    maker = Maker()
    jax.eval_shape(lambda x, times: run(maker, x, times), images, times)

    def loss_of(p, _, images, times, noise):
        state = Taker([parameter.astype(dtype) for parameter in p], [])
        predicted = run(state, images.astype(dtype), times, implementation=implementation)
        return jnp.square(predicted.astype(jnp.float32) - noise).mean()

    return functools.partial(adamw_step(loss_of, maker.parameters), images, times, noise)
