"""Programs take JAX's arrays and NumPy's, and both keep their 64 bits."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from oneflow.base.device import CPU, xla_device
from oneflow.base.x64 import x64
from oneflow.compiler.loaded_executable import LoadedExecutable

NUMBERS = np.array([2**40, 3])
HALVES = np.array([0.1, 1e300])


def executable() -> LoadedExecutable:
    with x64():
        given = [jax.device_put(each, xla_device(CPU)) for each in (NUMBERS, HALVES)]
        compiled = jax.jit(lambda n, x: [n + 1, x * 0.5]).lower(*given).compile()
    return LoadedExecutable(compiled, CPU, has_donation=False)


@pytest.mark.parametrize("order", list(itertools.permutations(("numpy", "jax", "mixed"))))
def test_arrays_of_either_kind_keep_64_bits(order: tuple[str, ...]) -> None:
    program = executable()
    with x64():
        numbers, halves = jnp.asarray(NUMBERS), jnp.asarray(HALVES)
    given = {"numpy": (NUMBERS, HALVES), "jax": (numbers, halves), "mixed": (NUMBERS, halves)}
    for kind in (*order, *order):
        box: list = []
        program(given[kind], box)
        n, x = box[0]
        np.testing.assert_array_equal(np.asarray(n), NUMBERS + 1, strict=True)
        np.testing.assert_array_equal(np.asarray(x), HALVES * 0.5, strict=True)
