"""Programs take JAX's arrays and NumPy's, both keep their 64 bits, and nothing donated is lost."""

from __future__ import annotations

import itertools
import sys
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import SingleDeviceSharding

from oneflow.base.device import CPU, xla_device
from oneflow.base.x64 import x64
from oneflow.compiler.loaded_executable import LoadedExecutable

NUMBERS = np.array([2**40, 3])
HALVES = np.array([0.1, 1e300])


def executable(donated: tuple[int, ...] = ()) -> LoadedExecutable:
    with x64():
        given = [jax.device_put(array, xla_device(CPU)) for array in (NUMBERS, HALVES)]
        function = jax.jit(
            lambda n, x: [n + 1, x * 0.5],
            donate_argnums=donated,
            out_shardings=SingleDeviceSharding(xla_device(CPU)),
        )
        compiled = function.lower(*given).compile()
    return LoadedExecutable(compiled, CPU)


@pytest.mark.parametrize("order", list(itertools.permutations(("numpy", "jax", "mixed"))))
def test_arrays_of_either_kind_keep_64_bits(order: tuple[str, ...]) -> None:
    program = executable()
    with x64():
        numbers, halves = jnp.asarray(NUMBERS), jnp.asarray(HALVES)
    given = {"numpy": (NUMBERS, HALVES), "jax": (numbers, halves), "mixed": (NUMBERS, halves)}
    for kind in (*order, *order):
        returned: list = []
        program(given[kind], returned)
        n, x = returned[0]
        np.testing.assert_array_equal(np.asarray(n), NUMBERS + 1, strict=True)
        np.testing.assert_array_equal(np.asarray(x), HALVES * 0.5, strict=True)


def python_of_jax(program: LoadedExecutable, arguments: tuple[Any, ...]) -> list[str]:
    """The functions with which JAX calls a program that this thread enters while it is called."""
    entered: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.endswith(("pxla.py", "stages.py")):
            entered.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        program(arguments, [])
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize("order", list(itertools.permutations(("numpy", "jax", "both, 64 bits"))))
def test_signal_handlers_never_run_within_a_call_that_donates(order: tuple[str, ...]) -> None:
    program = executable(donated=(1,))
    for kind in (*order, *order):
        with x64():
            numbers, halves = (
                jax.device_put(array, xla_device(CPU)) for array in (NUMBERS, HALVES)
            )
        if kind == "both, 64 bits":
            with jax.enable_x64(True):
                assert python_of_jax(program, (numbers, halves)) == []
        else:
            arguments = (NUMBERS, halves) if kind == "numpy" else (numbers, halves)
            assert python_of_jax(program, arguments) == []
        assert halves.is_deleted()
