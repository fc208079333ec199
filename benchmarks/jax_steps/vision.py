"""The models of `benchmarks/vision.py`, written by hand in JAX (without dropout)."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import hard_sigmoid, hard_swish, relu

from benchmarks.jax_steps import layers
from benchmarks.jax_steps.layers import conv, layer_norm, linear, norm

gelu = functools.partial(jax.nn.gelu, approximate=False)


def resnet18(state, x):
    """ResNet-18."""
    x = relu(norm(state, conv(state, x, 64, 7, 2)))
    x = lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    )
    for width, first_stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first_stride, 1):
            identity = x
            if stride != 1:
                identity = norm(state, conv(state, x, width, 1, stride))
            x = relu(norm(state, conv(state, x, width, 3, stride)))
            x = relu(norm(state, conv(state, x, width, 3)) + identity)
    return linear(state, x.mean((1, 2)), 1000)


# Kernel, width inside, channels, squeeze-and-excitation, activation, stride.
MOBILENET_V3_SMALL = (
    (3, 16, 16, True, relu, 2),
    (3, 72, 24, False, relu, 2),
    (3, 88, 24, False, relu, 1),
    (5, 96, 40, True, hard_swish, 2),
    (5, 240, 40, True, hard_swish, 1),
    (5, 240, 40, True, hard_swish, 1),
    (5, 120, 48, True, hard_swish, 1),
    (5, 144, 48, True, hard_swish, 1),
    (5, 288, 96, True, hard_swish, 2),
    (5, 576, 96, True, hard_swish, 1),
    (5, 576, 96, True, hard_swish, 1),
)


def mobilenet_v3_small(state, x):
    """MobileNetV3, small."""
    x = hard_swish(norm(state, conv(state, x, 16, 3, 2)))
    for kernel, width, out, squeezed, act, stride in MOBILENET_V3_SMALL:
        identity = x
        if width != x.shape[-1]:
            x = act(norm(state, conv(state, x, width)))
        x = act(norm(state, conv(state, x, width, kernel, stride, width)))
        if squeezed:
            inner = max(8, int(width / 4 + 4) // 8 * 8)
            gate = relu(linear(state, x.mean((1, 2)), inner))
            x = x * hard_sigmoid(linear(state, gate, width))[:, None, None]
        x = norm(state, conv(state, x, out))
        if stride == 1 and identity.shape[-1] == out:
            x = x + identity
    x = hard_swish(norm(state, conv(state, x, 576)))
    return linear(state, hard_swish(linear(state, x.mean((1, 2)), 1024)), 1000)


def patches(state, x, out, size):
    """Patches of `size` x `size` pixels, embedded: (N, H, W, C) to (N, H / size, W / size, out)."""
    return conv(state, x, out, size, size, pad=0) + state.constant(0.0, out)


def mlp(state, x, width):
    """The two linear layers of a block."""
    return linear(state, gelu(linear(state, x, width)), x.shape[-1])


def attention(state, x, heads, bias=None):
    """Self-attention over the dimension before the last; `bias` is added to the scores."""
    *batch, tokens, width = x.shape
    qkv = linear(state, x, 3 * width).reshape(*batch, tokens, 3, heads, width // heads)
    q, k, v = (jnp.moveaxis(qkv[..., i, :, :], -2, -3) for i in range(3))
    scores = (q / math.sqrt(width // heads)) @ jnp.swapaxes(k, -1, -2)
    if bias is not None:
        scores = scores + bias
    mixed = jnp.moveaxis(jax.nn.softmax(scores) @ v, -3, -2)
    return linear(state, mixed.reshape(x.shape), width)


def vit_tiny(state, x):
    """ViT or DeiT, tiny, with patches of 16 x 16 pixels."""
    x = patches(state, x, 192, 16).reshape(len(x), -1, 192)
    first = jnp.broadcast_to(state.constant(0.0, 192), (len(x), 1, 192))
    x = jnp.concatenate([first, x], 1)
    x = x + state.weight(x.shape[1], 192)
    for _ in range(12):
        x = x + attention(state, layer_norm(state, x), 3)
        x = x + mlp(state, layer_norm(state, x), 768)
    return linear(state, layer_norm(state, x)[:, 0], 1000)


def mlp_mixer_s16(state, x):
    """MLP-Mixer, small, with patches of 16 x 16 pixels."""
    x = patches(state, x, 512, 16).reshape(len(x), -1, 512)
    for _ in range(8):
        tokens = jnp.swapaxes(layer_norm(state, x), 1, 2)
        x = x + jnp.swapaxes(mlp(state, tokens, 256), 1, 2)
        x = x + mlp(state, layer_norm(state, x), 2048)
    return linear(state, layer_norm(state, x).mean(1), 1000)


def convnext_tiny(state, x):
    """ConvNeXt, tiny."""
    x = layer_norm(state, patches(state, x, 96, 4))
    for width, depth in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if x.shape[-1] != width:
            x = patches(state, layer_norm(state, x), width, 2)
        for _ in range(depth):
            inner = conv(state, x, width, 7, groups=width) + state.constant(0.0, width)
            inner = mlp(state, layer_norm(state, inner), 4 * width)
            x = x + state.constant(1e-6, width) * inner
    return linear(state, layer_norm(state, x.mean((1, 2))), 1000)


WINDOW = 7


def _relative_positions():
    """The row of the table of biases for each pair of places in a window."""
    places = np.stack(np.meshgrid(*[np.arange(WINDOW)] * 2, indexing="ij"), -1).reshape(-1, 2)
    row, column = np.moveaxis(places[:, None] - places[None] + WINDOW - 1, -1, 0)
    return row * (2 * WINDOW - 1) + column


def windows(x):
    """(N, H, W, C) to (N, windows, places, C)."""
    n, height, width, channels = x.shape
    x = x.reshape(n, height // WINDOW, WINDOW, width // WINDOW, WINDOW, channels)
    return x.swapaxes(2, 3).reshape(n, -1, WINDOW * WINDOW, channels)


def _shifted_mask(size):
    """The number that is added to the scores of places that were no neighbours before the shift."""
    band = np.digitize(np.arange(size), [size - WINDOW, size - WINDOW // 2])
    area = windows((band[:, None] * 3 + band)[None, :, :, None])[0, :, :, 0]
    return np.where(area[:, :, None] == area[:, None], 0.0, -100.0).astype(np.float32)


def swin_block(state, x, heads, shift):
    """Attention in windows, shifted or not, and the two linear layers."""
    n, size, _, channels = x.shape
    y = layer_norm(state, x)
    bias = state.weight((2 * WINDOW - 1) ** 2, heads)[_relative_positions()].transpose(2, 0, 1)
    if shift:
        y = jnp.roll(y, (-shift, -shift), (1, 2))
        bias = bias + _shifted_mask(size)[:, None]
    y = attention(state, windows(y), heads, bias)
    count = size // WINDOW
    y = y.reshape(n, count, count, WINDOW, WINDOW, channels).swapaxes(2, 3).reshape(x.shape)
    if shift:
        y = jnp.roll(y, (shift, shift), (1, 2))
    x = x + y
    return x + mlp(state, layer_norm(state, x), 4 * channels)


def swin_tiny(state, x):
    """Swin, tiny, with patches of 4 x 4 pixels and windows of 7 x 7 patches."""
    x = layer_norm(state, patches(state, x, 96, 4))
    for stage, depth in enumerate((2, 2, 6, 2)):
        if stage:
            corners = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
            x = layer_norm(state, jnp.concatenate(corners, -1))
            x = x @ state.weight(x.shape[-1], x.shape[-1] // 2)
        for block in range(depth):
            shift = WINDOW // 2 if block % 2 and x.shape[1] > WINDOW else 0
            x = swin_block(state, x, 3 << stage, shift)
    return linear(state, layer_norm(state, x).mean((1, 2)), 1000)


MODELS = {
    "resnet18": resnet18,
    "mobilenet_v3_small": mobilenet_v3_small,
    "vit_tiny_patch16_224": vit_tiny,
    "deit_tiny_patch16_224": vit_tiny,
    "swin_tiny_patch4_window7_224": swin_tiny,
    "convnext_tiny_224": convnext_tiny,
    "mlp_mixer_s16_224": mlp_mixer_s16,
}


def build(name, twin, batch=8):
    """A function that runs one step of training and returns the loss."""
    return layers.training_step(MODELS[name], batch)


def build_inference(name, twin, batch=8):
    """A function that returns the logits."""
    return layers.inference_step(MODELS[name], batch)
