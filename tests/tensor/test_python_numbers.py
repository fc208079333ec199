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
    "a NumPy number behind one of Python": lambda lib: lib.tensor([1.0, np.float64(2)]),
    "a NumPy number of half precision": lambda lib: lib.tensor([1, np.float16(2.5)]),
    "integers of NumPy in lists": lambda lib: lib.tensor([[1.5], [np.int64(3)]]),
    "a tensor behind a number": lambda lib: lib.tensor([1, lib.tensor(2.5, dtype=lib.float64)]),
    "complex numbers as truth values": lambda lib: lib.tensor([0j, 1e-320j, 1], dtype=lib.bool),
    "beside a float": lambda lib: lib.tensor([2**64, 2.5]),
    "complex linspace": lambda lib: lib.linspace(0, 2j, 3),
    "complex linspace of a dtype": lambda lib: lib.linspace(1j, 2, 4, dtype=lib.complex128),
    "complex linspace of a tensor": lambda lib: lib.linspace(lib.tensor(1j), 2, 0),
    "complex logspace": lambda lib: lib.logspace(1j, 2, 3),
    "complex logspace of a dtype": lambda lib: lib.logspace(0, 2j, 4, 2.5, dtype=lib.complex128),
    "logspace of a complex dtype": lambda lib: lib.logspace(0, 2, 3, dtype=lib.complex64),
    "factor that is true": lambda lib: lib.add(lib.tensor([True]), True, alpha=True),
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
    "real logspace": (
        lambda lib: lib.logspace(0, 2j, 3, dtype=lib.float32),
        RuntimeError,
        "do not fit into",
    ),
    "a bool as a factor": (
        lambda lib: lib.add(lib.tensor([1.0]), 1, alpha=True),
        RuntimeError,
        "Boolean alpha",
    ),
    "a bool as a factor of a difference": (
        lambda lib: lib.tensor([1]).sub_(1, alpha=True),
        RuntimeError,
        "Boolean alpha",
    ),
    "a whole float as a factor": (
        lambda lib: lib.sub(lib.tensor([1]), 1, alpha=1.0),
        RuntimeError,
        "must not be a floating point number",
    ),
    "a bool as a dimension": (lambda lib: lib.zeros(2, 3).sum(True), TypeError, "must be int"),
    "a bool in another place": (
        lambda lib: lib.topk(lib.zeros(2, 4), 4, True),
        TypeError,
        "must be int",
    ),
    "a float as a count": (lambda lib: lib.topk(lib.zeros(2, 4), 4.0), TypeError, "int"),
    "edges of another dtype": (
        lambda lib: lib.histogram(lib.zeros(2), lib.tensor([0, 1])),
        RuntimeError,
        "dtype",
    ),
    "weights of another dtype": (
        lambda lib: lib.histogramdd(lib.zeros(2, 1), [2], weight=lib.zeros(2, dtype=lib.float64)),
        RuntimeError,
        "dtype",
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


class _Reflecting:
    """An object that answers the operators which a tensor leaves to it."""

    def __eq__(self, other):
        return "eq"

    def __ne__(self, other):
        return "ne"

    def __gt__(self, other):
        return "gt"

    def __radd__(self, other):
        return "radd"

    __hash__ = object.__hash__


def test_operators_are_left_to_unknown_objects():
    def answers(lib):
        x, other, unknown = lib.ones(2), _Reflecting(), object()
        found = [x == other, x != other, x < other, x + other, x == unknown, x != unknown]
        return [*found, x == None, x != "a", unknown in [x], x.__eq__(unknown), x.__ne__("a")]  # noqa: E711

    assert answers(flow) == answers(torch)


def test_numbers_of_complex_tensors():
    for lib in (torch, flow):
        assert [float(lib.tensor(1.5 + 0j)), int(lib.tensor(2 + 0j))] == [1.5, 2]
        for convert in (float, int):
            with pytest.raises(RuntimeError, match="cannot be converted"):
                convert(lib.tensor(1.5j))


@pytest.mark.parametrize(
    "call",
    [
        lambda lib: lib.ones(3).broadcast_to(2, 3),
        lambda lib: lib.ones(1, 1, 3).squeeze(0, 1),
        lambda lib: lib.ones(1, 1, 3).squeeze_(0, -2),
        lambda lib: lib.ones(2, 1, 3).squeeze(0, 1),
        lambda lib: lib.eye(3).count_nonzero(0, 1),
        lambda lib: lib.eye(3).expand(2, 3, 3).count_nonzero(0, -1),
    ],
)
def test_dimensions_as_separate_numbers(call):
    ours, theirs = call(flow), call(torch)
    assert ours.shape == theirs.shape
    assert ours.tolist() == theirs.tolist()
