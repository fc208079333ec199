"""Recurrent layers in programs: equal layers are one function."""

import jax
import numpy as np
import pytest

from oneflow.primitives.operators import rnn

KINDS = {"lstm": 4, "gru": 3, "rnn": 1}
STEPS, BATCH, SIZE = 5, 2, 8


def _instructions(kind: str, layers: int, platform: str) -> int:
    """The number of instructions of a stack of layers, with its backward pass."""
    states = 2 if kind == "lstm" else 1
    forward, backward = getattr(rnn, kind), getattr(rnn, f"{kind}_backward")
    options = {} if kind == "rnn" else {"has_gradient": (True, *(False,) * states)}

    def program(x, h, weight):
        hs = [h] * states
        for _ in range(layers):
            out = forward.implementation(platform)(x, *hs, weight)
            out = out if isinstance(out, tuple) else (out,)
            gradients = backward.implementation(platform)(out[0], *hs, weight, *out, **options)
            x = x + gradients[0]
        return x

    shapes = ((STEPS, BATCH, KINDS[kind] * SIZE), (BATCH, SIZE), (KINDS[kind] * SIZE, SIZE))
    arrays = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    lowered = jax.jit(program).trace(*arrays).lower(lowering_platforms=(platform,))
    return sum(" = " in line for line in lowered.as_text().splitlines())


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_layers_are_one_function(kind, platform):
    one, two, four = (_instructions(kind, layers, platform) for layers in (1, 2, 4))
    assert two - one <= 3  # Two calls and the sum.
    assert four - two == 2 * (two - one)
