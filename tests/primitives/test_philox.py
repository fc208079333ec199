"""Random words: the same on every platform, in few kernels where kernels cost time."""

import re

import jax
import numpy as np
import pytest

from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import philox
from oneflow.primitives.operators.random import random_bits

COUNTER = np.arange(1000, dtype=np.uint32)
WORDS = (np.uint32(7), np.uint32(2**31 + 5), np.uint32(2**32 - 1))


@pytest.mark.parametrize("key", [(9, 2**32 - 1), (COUNTER, 3)], ids=["scalars", "array"])
def test_words_are_the_same_off_the_cpu(key):
    key = [np.asarray(part, np.uint32) for part in key]
    on_cpu = jax.jit(philox._random_bits)(COUNTER, *WORDS, *key)
    off_cpu = jax.jit(philox._random_bits_off_cpu)(COUNTER, *WORDS, *key)
    for here, there in zip(on_cpu, off_cpu, strict=True):
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_the_words_of_a_key_are_one_array_off_the_cpu(platform):
    @in_x64
    def lowered():
        seed = jax.ShapeDtypeStruct((), np.int64)
        draw = jax.jit(lambda seed, stream: random_bits(seed, stream, (64, 32)))
        return draw.trace(seed, seed).lower(lowering_platforms=(platform,)).as_text()

    text = lowered()
    assert "stablehlo.add" in text
    assert "tensor<10x2xui32>" in text
    assert not re.search(r"stablehlo.add .*: tensor<ui32>", text)
