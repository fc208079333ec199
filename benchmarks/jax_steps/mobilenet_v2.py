"""MobileNetV2 as a hand-written, donated `jax.jit` step (without dropout)."""

from jax.nn import relu6

from benchmarks.jax_steps.layers import conv, inference_step, norm, training_step
from benchmarks.models.mobilenet_v2 import STAGES


def block(state, x, out, stride, expansion):
    """One inverted residual block."""
    identity, hidden = x, x.shape[-1] * expansion
    if expansion != 1:
        x = relu6(norm(state, conv(state, x, hidden)))
    x = relu6(norm(state, conv(state, x, hidden, 3, stride, hidden)))
    x = norm(state, conv(state, x, out))
    return x + identity if stride == 1 and identity.shape[-1] == out else x


def model(state, x):
    """Logits of a batch of images."""
    x = relu6(norm(state, conv(state, x, 32, 3, 2)))
    for expansion, out, repetitions, stride in STAGES:
        for index in range(repetitions):
            x = block(state, x, out, stride if index == 0 else 1, expansion)
    x = relu6(norm(state, conv(state, x, 1280)))
    x = x.mean((1, 2))
    return x @ state.weight(x.shape[-1], 1000) + state.constant(0.0, 1000)


def build(batch=8):
    """A function that runs one step and returns the loss."""
    return training_step(model, batch)


def build_inference(batch=8):
    """A function that returns the logits."""
    return inference_step(model, batch)
