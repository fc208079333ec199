"""Python's numbers as tensors and beside them, in PyTorch's way: large ones, complex ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import dtype_name

TENSORS = {
    "uint64": lambda lib: lib.tensor(2**64 - 1, dtype=lib.uint64),
    "uint64 beside small ones": lambda lib: lib.tensor([[2**64 - 1], [1]], dtype=lib.uint64),
    "float32": lambda lib: lib.tensor([2**63, 2**64], dtype=lib.float32),
    "float64 of one": lambda lib: lib.tensor(2**70, dtype=lib.float64),
    "complex64": lambda lib: lib.tensor([2**64, 1], dtype=lib.complex64),
    "bool": lambda lib: lib.tensor([2**63, 0], dtype=lib.bool),
    "bool of large numbers after a float": lambda lib: lib.tensor(
        (float("nan"), 0, -(2**63) - 1), dtype=lib.bool
    ),
    "exponent of float_power": lambda lib: lib.float_power(lib.tensor([3.0]), 1.1),
    "complex exponent of float_power": lambda lib: lib.float_power(
        lib.tensor([3], dtype=lib.int16), 1.2 + 0.7j
    ),
    "base of float_power": lambda lib: lib.float_power(1.1, lib.tensor([3], dtype=lib.int8)),
    "beside a float": lambda lib: lib.tensor([2**64, 2.5]),
    "complex linspace": lambda lib: lib.linspace(0, 2j, 3),
    "complex linspace of a dtype": lambda lib: lib.linspace(1j, 2, 4, dtype=lib.complex128),
    "complex linspace of a tensor": lambda lib: lib.linspace(lib.tensor(1j), 2, 0),
    "product of a dtype": lambda lib: lib.tensor([2, 3], dtype=lib.int8).prod(dtype=lib.int8),
    "product in another": lambda lib: lib.tensor([2.5, 3.5]).prod(0, dtype=lib.int16),
}
REFUSED = {
    "int64": (lambda lib: lib.tensor(2**63), ValueError, "too large for int64"),
    "int64 beside small ones": (lambda lib: lib.tensor([1, 2**63]), ValueError, "too large"),
    "int32": (lambda lib: lib.tensor([2**64 - 1, 1], dtype=lib.int32), ValueError, "too large"),
    "uint64": (lambda lib: lib.tensor(2**64, dtype=lib.uint64), RuntimeError, "overflow"),
    "negative": (lambda lib: lib.tensor([2**64 - 1, -1], dtype=lib.uint64), RuntimeError, "uint64"),
    "real linspace": (
        lambda lib: lib.linspace(0, 2j, 3, dtype=lib.float32),
        RuntimeError,
        "do not fit into",
    ),
}
BESIDE = {
    "add": lambda lib, x: x + 0.1j,
    "mul from the left": lambda lib, x: 0.1j * x,
    "div": lambda lib, x: x / (1 + 0.1j),
    "pow": lambda lib, x: x ** (1 + 0.1j),
    "equal": lambda lib, x: x == 0.1j,
    "where": lambda lib, x: lib.where(x == x, 0.1j, x),
}


def _assert_alike(mine, theirs):
    assert dtype_name(mine) == dtype_name(theirs)
    rtol = 1e-6 if "64" in dtype_name(mine) and "complex" in dtype_name(mine) else 1e-14
    np.testing.assert_allclose(mine.numpy(), theirs.resolve_conj().numpy(), rtol=rtol)


@pytest.mark.parametrize("name", TENSORS)
def test_tensor_of_numbers(name):
    _assert_alike(TENSORS[name](flow), TENSORS[name](torch))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call(flow)
    with pytest.raises((error, OverflowError)):
        call(torch)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", BESIDE)
def test_complex_numbers_beside_tensors(name, dtype):
    for default, shape in product(("float32", "float64"), ((), (2,))):
        for lib in (flow, torch):
            lib.set_default_dtype(getattr(lib, default))
        try:
            mine, theirs = (
                BESIDE[name](lib, lib.ones(shape, dtype=getattr(lib, dtype)))
                for lib in (flow, torch)
            )
        finally:
            for lib in (flow, torch):
                lib.set_default_dtype(lib.float32)
        _assert_alike(mine, theirs)


def test_complex_powers_whose_factors_overflow():
    mine, theirs = (
        lib.tensor([-3e6 + 3j, -1e20 + 0j, 1e20j, 0j, 2 + 1j])
        ** lib.tensor([-6e9 - 81j, 2 + 30j, 3 + 40j, 2 + 1j, 0.5j])
        for lib in (flow, torch)
    )
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4)
