"""ResNet-50 as a hand-written, donated `jax.jit` step."""

import jax.numpy as jnp
from jax import lax
from jax.nn import relu

from benchmarks.jax_steps.layers import conv, inference_step, norm, training_step


def bottleneck(state, x, width, stride):
    """One residual block."""
    identity = x
    if stride != 1 or x.shape[-1] != 4 * width:
        identity = norm(state, conv(state, x, 4 * width, 1, stride))
    x = relu(norm(state, conv(state, x, width)))
    x = relu(norm(state, conv(state, x, width, 3, stride)))
    return relu(norm(state, conv(state, x, 4 * width)) + identity)


def model(state, x):
    """Logits of a batch of images."""
    x = relu(norm(state, conv(state, x, 64, 7, 2)))
    x = lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    )
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            x = bottleneck(state, x, width, stride if block == 0 else 1)
    x = x.mean((1, 2))
    return x @ state.weight(x.shape[-1], 1000) + state.constant(0.0, 1000)


def build(batch=8, size=224, dtype=jnp.float32):
    """A function that runs one step and returns the loss."""
    return training_step(model, batch, size, dtype)


def build_inference(batch=8):
    """A function that returns the logits."""
    return inference_step(model, batch)
