"""The GPT of `models/gpt.py` as a hand-written, donated `jax.jit` step."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from benchmarks.jax_steps.step import Step, adamw


def block_parameters(width, rng=None):
    """The parameters of a layer."""
    rng = rng or np.random.default_rng(0)

    def norm():
        return {"scale": jnp.ones(width, jnp.float32), "shift": jnp.zeros(width, jnp.float32)}

    def dense(inputs, outputs):
        return {"weight": _normal(rng, inputs, outputs), "bias": jnp.zeros(outputs, jnp.float32)}

    return {
        "norm1": norm(),
        "norm2": norm(),
        "qkv": dense(width, 3 * width),
        "projection": dense(width, width),
        "up": dense(width, 4 * width),
        "down": dense(4 * width, width),
    }


def _normal(rng, *shape):
    return jnp.asarray(rng.standard_normal(shape) * 0.02, jnp.float32)


def _parameters(vocabulary, width, layers, context):
    rng = np.random.default_rng(0)
    blocks = [block_parameters(width, rng) for _ in range(layers)]
    return {
        "tokens": _normal(rng, vocabulary, width),
        "positions": _normal(rng, context, width),
        "blocks": blocks,
        "norm": {"scale": jnp.ones(width, jnp.float32), "shift": jnp.zeros(width, jnp.float32)},
        "head": _normal(rng, width, vocabulary),
    }


def _norm(x, p):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["shift"]


def _dense(x, p):
    return x @ p["weight"] + p["bias"]


def _drop(x, key, rate):
    if rate == 0:
        return x
    return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0.0)


def block(x, p, keys, heads, rate):
    """A layer, with attention written out."""
    batch, length, width = x.shape
    q, k, v = jnp.split(_dense(_norm(x, p["norm1"]), p["qkv"]), 3, axis=-1)
    q, k, v = (part.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3) for part in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(width // heads)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    weights = _drop(jax.nn.softmax(scores), next(keys), rate)
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
    x = x + _drop(_dense(mixed, p["projection"]), next(keys), rate)
    hidden = jax.nn.gelu(_dense(_norm(x, p["norm2"]), p["up"]), approximate=False)
    return x + _drop(_dense(hidden, p["down"]), next(keys), rate)


def _logits(p, tokens, key, heads, rate):
    keys = iter(jax.random.split(key, 3 * len(p["blocks"]) + 1))
    x = _drop(p["tokens"][tokens] + p["positions"][: tokens.shape[1]], next(keys), rate)
    for layer in p["blocks"]:
        x = block(x, layer, keys, heads, rate)
    return _norm(x, p["norm"]) @ p["head"]


def build_inference(batch=8, context=128, vocabulary=512, width=256, heads=4, layers=4):
    """A function that returns the logits."""
    tokens = jnp.asarray(np.random.default_rng(1).integers(0, vocabulary, (batch, context)))
    p = _parameters(vocabulary, width, layers, context)
    compiled = jax.jit(lambda p, tokens: _logits(p, tokens, jax.random.key(0), heads, rate=0))
    return lambda: compiled(p, tokens)


def cast(p, dtype):
    """Parameters in the type that the step computes in; None: as they are."""
    return p if dtype is None else jax.tree.map(lambda array: array.astype(dtype), p)


def make_step(
    vocabulary=512,
    width=256,
    heads=4,
    layers=4,
    context=128,
    rate=0.1,
    dtype=None,
    sums_gradients=False,
):
    """A function that runs one step on tokens and targets and returns the loss.

    Args:
        dtype: what it computes in.
        sums_gradients: chips add up gradients in the type of the parameters, whatever `dtype` is.
    """

    def loss_of(p, key, tokens, targets):
        logits = _logits(cast(p, dtype), tokens, key, heads, rate)
        logits = jax.nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.take_along_axis(logits, targets[..., None], axis=-1).mean()

    p = _parameters(vocabulary, width, layers, context)
    return adamw_step(loss_of, p, _mean_over_chips if sums_gradients else jax.value_and_grad)


def _mean_over_chips(loss_of):
    """As `jax.value_and_grad`, with means over the chips that share the batch."""

    def means(*args):
        return jax.lax.pmean(jax.value_and_grad(loss_of)(*args), "chips")

    def run(p, key, *batch):
        specs = PartitionSpec(), PartitionSpec(), *[PartitionSpec("chips")] * len(batch)
        shared = jax.shard_map(means, in_specs=specs, out_specs=PartitionSpec(), check_vma=False)
        return shared(p, key, *batch)

    return run


def adamw_step(loss_of, p, value_and_grad=jax.value_and_grad):
    """A function that runs one step of AdamW on ``loss_of(p, key, *batch)``."""

    def update(p, first, second, count, key, *batch):
        key, used = jax.random.split(key)
        loss, gradients = value_and_grad(loss_of)(p, used, *batch)
        return loss, *adamw(p, first, second, count, gradients), key

    compiled = jax.jit(update, donate_argnums=(0, 1, 2))
    zeros = jax.tree.map(jnp.zeros_like, p)
    state = [p, zeros, jax.tree.map(jnp.zeros_like, p), jnp.float32(0), jax.random.key(0)]

    return Step(compiled, state)


def build(batch=8, context=128, vocabulary=512, rate=0.1, dtype=None, **sizes):
    """A function that runs one step and returns the loss."""
    rng = np.random.default_rng(1)
    tokens = jnp.asarray(rng.integers(0, vocabulary, (batch, context)))
    targets = jnp.asarray(rng.integers(0, vocabulary, (batch, context)))
    step = make_step(vocabulary, context=context, rate=rate, dtype=dtype, **sizes)
    return functools.partial(step, tokens, targets)
