"""The decoder of `models/llama.py` as a hand-written, donated `jax.jit` step."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from benchmarks.jax_steps.gpt import adamw_step, cast

# Tensor parallelism: each chip has some of the heads, of the hidden features and of the words.
_BY_OUTPUT, _BY_INPUT = PartitionSpec(None, "chips"), PartitionSpec("chips")
SPLIT_WEIGHTS = {
    **dict.fromkeys(("q", "k", "v", "gate", "up", "head"), _BY_OUTPUT),
    **dict.fromkeys(("out", "down"), _BY_INPUT),
}


def split_weights(p):
    """The `PartitionSpec` of each parameter of `p` in tensor parallelism."""
    return jax.tree_util.tree_map_with_path(
        lambda path, _: SPLIT_WEIGHTS.get(path[-1].key, PartitionSpec()), p
    )


def split_rows(p):
    """The `PartitionSpec` of each parameter of `p` that is split over all chips (FSDP)."""
    return jax.tree.map(lambda _: PartitionSpec("chips"), p)


def _norm(x, weight):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-5)
    return (wide * scale).astype(x.dtype) * weight


def _rotated(x, cosines, sines):
    first, second = jnp.split(x, 2, axis=-1)
    return x * cosines + jnp.concatenate([-second, first], axis=-1) * sines


def _whole(x, is_gathered):
    """Keys or values, of all positions on each chip if sequences are split."""
    return jax.lax.with_sharding_constraint(x, PartitionSpec()) if is_gathered else x


def _block(x, p, heads, groups, implementation, splits_sequences):
    batch, length, width = x.shape
    size = width // heads
    y = _norm(x, p["norm1"])
    q = (y @ p["q"]).reshape(batch, length, heads, size)
    k, v = ((y @ p[name]).reshape(batch, length, groups, size) for name in ("k", "v"))
    powers = jnp.arange(0, size, 2, dtype=jnp.float32) / size
    angles = jnp.arange(length, dtype=jnp.float32)[:, None] * 10000.0**-powers
    angles = jnp.concatenate([angles, angles], axis=-1)[:, None]
    cosines, sines = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    mixed = jax.nn.dot_product_attention(
        _rotated(q, cosines, sines),
        _whole(_rotated(k, cosines, sines), splits_sequences),
        _whole(v, splits_sequences),
        is_causal=True,
        implementation=implementation,
    )
    x = x + mixed.reshape(batch, length, width) @ p["out"]
    y = _norm(x, p["norm2"])
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]


def _parameters(vocabulary, width, hidden, heads, groups, layers):
    rng = np.random.default_rng(0)
    narrow = width // heads * groups
    shapes = {
        "q": (width, width),
        "k": (width, narrow),
        "v": (width, narrow),
        "out": (width, width),
        "gate": (width, hidden),
        "up": (width, hidden),
        "down": (hidden, width),
    }

    def normal(shape):
        made = rng.standard_normal(shape, dtype=np.float32) / math.sqrt(width)
        return jnp.asarray(made)

    def block():
        ones = {name: jnp.ones(width, jnp.float32) for name in ("norm1", "norm2")}
        return ones | {name: normal(shape) for name, shape in shapes.items()}

    return {
        "tokens": normal((vocabulary, width)),
        "blocks": [block() for _ in range(layers)],
        "norm": jnp.ones(width, jnp.float32),
        "head": normal((width, vocabulary)),
    }


def build(
    batch=4,
    context=1024,
    vocabulary=32000,
    width=2048,
    hidden=8192,
    heads=32,
    groups=8,
    layers=16,
    dtype=None,
    implementation=None,
    splits_sequences=False,
):
    """A function that runs one step and returns the loss.

    Args:
        dtype: what it computes in.
        implementation: of attention, as `jax.nn.dot_product_attention` has it.
        splits_sequences: each chip has some of the positions, and gathers keys and values.
    """

    def loss_of(p, _, tokens, targets):
        p = cast(p, dtype)
        x = p["tokens"][tokens]
        for block in p["blocks"]:
            x = _block(x, block, heads, groups, implementation, splits_sequences)
        logits = jax.nn.log_softmax((_norm(x, p["norm"]) @ p["head"]).astype(jnp.float32))
        return -jnp.take_along_axis(logits, targets[..., None], axis=-1).mean()

    rng = np.random.default_rng(1)
    tokens, targets = (jnp.asarray(rng.integers(0, vocabulary, (batch, context))) for _ in range(2))
    step = adamw_step(loss_of, _parameters(vocabulary, width, hidden, heads, groups, layers))
    return functools.partial(step, tokens, targets)
