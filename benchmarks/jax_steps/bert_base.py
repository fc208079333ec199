"""The encoder of `onnx_models.bert_base` by hand: twelve layers of width 768, in JAX."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.jax_steps.layers import Maker, Taker, layer_norm
from benchmarks.jax_steps.vision import attention, mlp

VOCABULARY, WIDTH = 30522, 768


def bert_base(state, tokens, heads=12, layers=12):
    """From indices of words (batch, length) to hidden states (batch, length, 768)."""
    x = layer_norm(state, jnp.take(state.weight(VOCABULARY, WIDTH), tokens, axis=0))
    for _ in range(layers):
        x = layer_norm(state, x + attention(state, x, heads))
        x = layer_norm(state, x + mlp(state, x, 4 * WIDTH))
    return x


def build_inference(batch=1, length=128, layers=12, dtype=jnp.float32):
    """A function that returns the hidden states."""
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, VOCABULARY, (batch, length)))
    maker = Maker()
    jax.eval_shape(lambda tokens: bert_base(maker, tokens, layers=layers), tokens)
    compiled = jax.jit(lambda p, tokens: bert_base(Taker(p, []), tokens, layers=layers))
    parameters = [jnp.asarray(parameter, dtype) for parameter in maker.parameters]
    return lambda: compiled(parameters, tokens)
