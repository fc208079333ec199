"""Errors of functions that JAX runs name the value and the function."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oneflow as flow


def test_integers_beyond_32_bits_are_refused():
    pure = flow.jax.function(lambda x: x + 1)
    for number in (np.array([3, 2**40]), np.int64(-(2**40)), np.uint64(2**40)):
        with pytest.raises(OverflowError, match=f"the integer {np.ravel(number)[-1]}, .*x64"):
            pure(number)
        with jax.enable_x64(True):
            assert pure(number).tolist() == (number + 1).tolist()
    assert pure(np.array([-(2**31), 2**31 - 2])).tolist() == [1 - 2**31, 2**31 - 1]
    assert pure(np.uint64(2**32 - 2)).tolist() == 2**32 - 1
    assert pure(np.zeros(0, np.int64)).shape == (0,)


def test_errors_speak_of_the_function():
    """Nobody has written a `build`."""
    made = []

    def keep(x):
        made.append(x * 2)
        return x

    def read(x):
        return x * x.sum().item()

    with pytest.raises(RuntimeError, match="read: a tensor's value was read inside the function"):
        flow.jax.function(read)(jnp.ones(2))
    flow.jax.function(keep)(jnp.ones(2))
    with pytest.raises(RuntimeError, match=r"inside the function of keep .* from the function"):
        made[0].tolist()
