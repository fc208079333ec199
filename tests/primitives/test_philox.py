"""Random words: the same on every platform, in few kernels where kernels cost time."""

import re

import jax
import numpy as np
import pytest

from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import philox
from oneflow.primitives.operators.random import random_bits

COUNTER = np.arange(1000, dtype=np.uint32)
ONE, TWO, THREE = np.uint32(7), np.uint32(2**31 + 5), np.uint32(2**32 - 1)
COUNTERS = {
    "index": (COUNTER, ONE, TWO, THREE),
    "long index": (COUNTER, COUNTER[::-1], TWO, THREE),
    "streams": (ONE, TWO, COUNTER, COUNTER[::-1]),
    "last word": (ONE, TWO, THREE, COUNTER),
    "one element": (ONE, TWO, THREE, ONE),
}


@pytest.mark.parametrize("platform", ["gpu", "tpu"])
@pytest.mark.parametrize("key", [(9, 2**32 - 1), (COUNTER, 3)], ids=["scalars", "array"])
@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
def test_words_are_the_same_off_the_cpu(counter, key, platform):
    key = [np.asarray(part, np.uint32) for part in key]
    on_cpu = jax.jit(philox._random_bits)(*counter, *key)
    off_cpu = jax.jit(getattr(philox, f"_random_bits_on_{platform}"))(*counter, *key)
    for here, there in zip(on_cpu, off_cpu, strict=True):
        np.testing.assert_array_equal(here, there)


def test_what_elements_have_in_common_is_one_array_on_gpus():
    words = (COUNTER, ONE, TWO, THREE, ONE, TWO)
    equations = jax.make_jaxpr(philox._random_bits_on_gpu)(*words).eqns
    # In the first round one of two words depends on elements, and then both.
    shapes = [equation.outvars[0].aval.shape for equation in equations]
    for equation in equations[shapes.index((1 + 2 * (philox.ROUNDS - 1),)) + 1 :]:
        is_read = equation.primitive.name in ("slice", "squeeze")
        assert is_read or all(result.aval.size == 1000 for result in equation.outvars)


def test_the_words_of_a_key_are_one_array_on_tpus():
    @in_x64
    def lowered():
        seed = jax.ShapeDtypeStruct((), np.int64)
        draw = jax.jit(lambda seed, stream: random_bits(seed, stream, (64, 32)))
        return draw.trace(seed, seed).lower(lowering_platforms=("tpu",)).as_text()

    text = lowered()
    assert "stablehlo.add" in text
    assert "tensor<10x2xui32>" in text
    assert not re.search(r"stablehlo.add .*: tensor<ui32>", text)
