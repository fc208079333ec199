"""``x.view(dtype)`` in exported models: bits read as numbers of another type."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from tests.onnx.runtime import assert_exported, exported, operators_of, run, session_of

TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
# -0, 1, the smallest number, infinity, NaN and 0 of every type with a sign and an exponent.
SPECIAL = [np.asarray([-0.0, 1, 5e-324, np.inf, -np.nan, 0], f"f{width}") for width in (2, 4, 8)]


def numbers(name: str) -> np.ndarray:
    """Two rows of numbers with all kinds of bits, as many as the widest type needs."""
    rng = np.random.default_rng(0)
    if name == "bool":
        return rng.integers(0, 2, (2, 16)).astype(bool)
    content = np.concatenate([tensor.view(np.uint8) for tensor in SPECIAL])
    content = np.concatenate([content, rng.integers(0, 256, 128 - len(content), np.uint8)])
    return content.view(name).reshape(2, -1)


def seen_as(x: np.ndarray, name: str) -> np.ndarray:
    """NumPy's answer; of bytes as truth values, whether they are 0."""
    return x.view(np.uint8) != 0 if name == "bool" else x.view(name)


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_every_pair_of_types(source, target):
    x = numbers(source)
    proto = exported(lambda x: x.view(getattr(flow, target)), [flow.tensor(x)])
    (result,) = run(session_of(proto), [flow.tensor(x)])
    wanted = seen_as(x, target)
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("source", "target"), [("int64", "int16"), ("uint8", "int32")])
def test_integers_need_no_late_opset(source, target):
    x = flow.tensor(numbers(source))
    proto = exported(lambda x: x.view(getattr(flow, target)), [x], opset=11)
    assert "BitCast" not in operators_of(proto)
    (result,) = run(session_of(proto), [x])
    assert result.tobytes() == x.numpy().tobytes()


def test_bits_of_a_symbolic_size():
    x = flow.tensor(numbers("float32"))
    options = {"dynamic": {0: {0: "rows", 1: "columns"}}}
    session = session_of(exported(lambda x: x.view(flow.int16), [x], **options))
    for given in (x, x[:1, :3]):
        (result,) = run(session, [given])
        np.testing.assert_array_equal(result, given.numpy().view(np.int16))


INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@pytest.mark.parametrize("opset", [11, None])
@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(name, opset):
    """Counts may be computed; constant ones need two casts and a shift."""
    limits = np.iinfo(name)
    x = flow.tensor(np.array([limits.min, limits.max, 77, 3, 0, 1, limits.min], name))
    counts = flow.tensor(np.array([1, 3, limits.bits - 1, limits.bits, 2, 100, 5], name))
    for shift in (lambda x, y: x << y, lambda x, y: x >> y):
        assert_exported(shift, x, counts, opset=opset)
        proto = assert_exported(lambda x, shift=shift: shift(x, 2), x, opset=opset)
        assert operators_of(proto).count("BitShift") == 1
        assert "And" not in operators_of(proto)


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("dtype", [flow.float32, flow.float64])
def test_functions_near_where_they_would_cancel(dtype, opset):
    """In double precision, too, where ONNX Runtime has no error function."""
    x = flow.tensor([-30.0, -3, -0.3, -1e-4, 0, 1e-40, 1e-38, 1e-3, 0.49, 0.51, 3.9, 4.1, 5, 9])
    x = x.to(dtype)
    exact = {flow.float32: 2e-6, flow.float64: 1e-13}[dtype]
    for function in (flow.erf, flow.erfc, flow.expm1, flow.nn.functional.gelu):
        proto = exported(function, [x], opset=opset)
        (result,) = run(session_of(proto), [x])
        # Far below 0 the last is a difference everywhere.
        smallest = exact if function is flow.nn.functional.gelu else 1e-30
        np.testing.assert_allclose(result, function(x).numpy(), rtol=exact, atol=smallest)
