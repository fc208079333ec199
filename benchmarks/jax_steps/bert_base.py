"""The encoder of `onnx_models.bert_base` by hand: twelve layers of width 768, in JAX."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.jax_steps.layers import Maker, Taker, layer_norm
from benchmarks.jax_steps.vision import attention, mlp

VOCABULARY, WIDTH, HEADS, LAYERS = 30522, 768, 12, 12


def bert_base(state, tokens):
    """From indices of words (batch, length) to hidden states (batch, length, 768)."""
    x = layer_norm(state, jnp.take(state.weight(VOCABULARY, WIDTH), tokens, axis=0))
    for _ in range(LAYERS):
        x = layer_norm(state, x + attention(state, x, HEADS))
        x = layer_norm(state, x + mlp(state, x, 4 * WIDTH))
    return x


def build_inference(batch=1, length=128):
    """A function that returns the hidden states."""
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, VOCABULARY, (batch, length)))
    maker = Maker()
    jax.eval_shape(lambda tokens: bert_base(maker, tokens), tokens)
    compiled = jax.jit(lambda p, tokens: bert_base(Taker(p, []), tokens))
    parameters = jax.tree.map(jnp.array, maker.parameters)
    return lambda: compiled(parameters, tokens)
