"""`oneflow.testing`: what is close, the texts of errors, and random tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow

NAN = float("nan")
DTYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "int32", "uint8", "bool")

# Two values, and options, by library; both libraries accept them, or raise the same error.
PAIRS = {
    "equal": lambda lib: (lib.tensor([1.0, 2.0]), lib.tensor([1.0, 2.0]), {}),
    "far": lambda lib: (lib.tensor([1.0, 2.0, 3.5]), lib.tensor([1.0, 2.5, 0.0]), {}),
    "rows": lambda lib: (
        lib.tensor([[1.0, 2.0], [3.0, 4.0]]),
        lib.tensor([[1.0, 2.0], [8, 4]]),
        {},
    ),
    "0-dim": lambda lib: (lib.tensor(1.0), lib.tensor(2.0), {}),
    "empty": lambda lib: (lib.ones(0, 2), lib.ones(0, 2), {}),
    "whole": lambda lib: (lib.tensor([1, 200]), lib.tensor([1, 2]), {}),
    "small": lambda lib: (
        lib.tensor([1, 200], dtype=lib.uint8),
        lib.tensor([3, 0], dtype=lib.uint8),
        {},
    ),
    "truth": lambda lib: (lib.tensor([True, False]), lib.tensor([True, True]), {}),
    "nan": lambda lib: (lib.tensor([NAN, 1.0]), lib.tensor([NAN, 1.0]), {}),
    "equal nan": lambda lib: (lib.tensor([NAN]), lib.tensor([NAN]), {"equal_nan": True}),
    "infinite": lambda lib: (lib.tensor([np.inf, 1]), lib.tensor([np.inf, 1]), {}),
    "shapes": lambda lib: (lib.ones(2), lib.ones(1, 2), {}),
    "dtypes": lambda lib: (lib.ones(2), lib.ones(2, dtype=lib.int64), {}),
    "dtypes unchecked": lambda lib: (
        lib.ones(2),
        lib.ones(2, dtype=lib.float16),
        {"check_dtype": False},
    ),
    "strides": lambda lib: (lib.ones(2, 3).t(), lib.ones(3, 2), {"check_stride": True}),
    "strides unchecked": lambda lib: (lib.ones(2, 3).t(), lib.ones(3, 2), {}),
    "tolerances": lambda lib: (lib.tensor([1.0]), lib.tensor([1.1]), {"rtol": 0.2, "atol": 0.0}),
    "relative": lambda lib: (lib.tensor([1.0]), lib.tensor([1.5]), {"rtol": 0.2, "atol": 0.1}),
    "no tolerance": lambda lib: (lib.tensor([1.0]), lib.tensor([1.5]), {"rtol": 0, "atol": 0}),
    "one tolerance": lambda lib: (lib.tensor([1.0]), lib.tensor([1.0]), {"rtol": 0.2}),
    "numbers": lambda lib: (1.0, 1.5, {}),
    "close numbers": lambda lib: (1.0, 1.0 + 1e-8, {}),
    "types of numbers": lambda lib: (1, 1.0, {}),
    "types of numbers unchecked": lambda lib: (1, 1.0, {"check_dtype": False}),
    "number and nan": lambda lib: (NAN, NAN, {}),
    "bools": lambda lib: (True, False, {}),
    "nones": lambda lib: (None, None, {}),
    "none": lambda lib: (None, 1, {}),
    "texts": lambda lib: ("a", "a", {}),
    "tensor and number": lambda lib: (lib.tensor(1.0), 1.0, {}),
    "arrays": lambda lib: (np.ones(2), np.zeros(2), {}),
    "lists": lambda lib: ([lib.ones(2), [1, 2]], [lib.ones(2), [1, 3]], {}),
    "lengths": lambda lib: ([1, [2]], [0, [2, 3]], {}),
    "mappings": lambda lib: ({"a": 1, "b": 2}, {"b": 2, "c": 3}, {}),
    "values": lambda lib: ({"a": [1.0]}, {"a": [lib.tensor(1.0)]}, {}),
    "own text": lambda lib: (1, 2, {"msg": "not so"}),
    "longer text": lambda lib: (1, 2, {"msg": lambda text: f"{text}\nfooter"}),
}


def outcome(lib, pair):
    """The type and text of the error, in PyTorch's names; None without one."""
    actual, expected, options = pair(lib)
    try:
        lib.testing.assert_close(actual, expected, **options)
    except Exception as error:
        text = str(error).replace("oneflow.tensor.tensor.", "torch.").replace("oneflow.", "torch.")
        return type(error), text
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_close_and_what_the_error_says(name):
    assert outcome(flow, PAIRS[name]) == outcome(torch, PAIRS[name])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_tolerances_are_those_of_the_dtype(dtype):
    rtol, atol = {
        "float16": (1e-3, 1e-5),
        "bfloat16": (1.6e-2, 1e-5),
        "float32": (1.3e-6, 1e-5),
        "float64": (1e-7, 1e-7),
        "complex64": (1.3e-6, 1e-5),
    }[dtype]
    for factor, scale in ((0.9, 1.0), (1.5, 1.0), (0.9, 4096.0), (1.5, 4096.0)):
        near = scale + factor * (atol + rtol * scale)

        def pair(lib, near=near, scale=scale):
            kind = getattr(lib, dtype)
            return lib.tensor([near], dtype=kind), lib.tensor([scale], dtype=kind), {}

        mine, theirs = outcome(flow, pair), outcome(torch, pair)
        assert (mine is None) == (theirs is None)
    # The last, of 1.5 times the tolerance of a large number.
    assert mine is not None


def test_types_of_tensors_and_gradients():
    x = flow.ones(2, requires_grad=True)
    flow.testing.assert_close(x, x * 1)
    with pytest.raises(TypeError, match="No comparison pair"):
        flow.testing.assert_close(x, flow.nn.Parameter(flow.ones(2)), allow_subclasses=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_tensors_are_within_pytorchs_limits(dtype):
    kind = getattr(flow, dtype)
    x = flow.testing.make_tensor((40, 25), dtype=kind)
    assert x.shape == (40, 25)
    assert x.dtype is kind
    parts = flow.view_as_real(x) if kind.is_complex else x
    numbers = parts.to(flow.float64).numpy()
    theirs = torch.testing.make_tensor((40, 25), dtype=getattr(torch, dtype), device="cpu")
    theirs = (torch.view_as_real(theirs) if kind.is_complex else theirs).double().numpy()
    width = np.ptp(theirs)
    np.testing.assert_allclose(numbers.min(), theirs.min(), atol=width / 20)
    np.testing.assert_allclose(numbers.max(), theirs.max(), atol=width / 20)


def test_options_of_random_tensors():
    make = flow.testing.make_tensor
    whole = make(100, dtype=flow.int64, low=-1, high=2, exclude_zero=True)
    assert set(whole.tolist()) == {-1, 1}
    assert not make(3, 4, dtype=flow.float32, noncontiguous=True).is_contiguous()
    assert make(1, dtype=flow.float32, noncontiguous=True).is_contiguous()
    assert make(2, dtype=flow.float64, requires_grad=True).requires_grad
    assert make(dtype=flow.float32).shape == ()
    assert make(0, 3, dtype=flow.int32).shape == (0, 3)
    all_numbers = make(50, dtype=flow.float16, low=-1e9, high=1e9).float()
    assert all_numbers.isfinite().all()
    assert all_numbers.abs().max() > 20000


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "float32", "low": NAN},
        {"dtype": "int64", "low": 3, "high": 3},
        {"dtype": "float32", "low": 3.0, "high": 2.0},
        {"dtype": "uint8", "low": 256, "high": 300},
        {"dtype": "uint8", "low": -9, "high": -3},
        {"dtype": "int64", "requires_grad": True},
        {"dtype": "float32", "noncontiguous": True, "memory_format": "contiguous_format"},
    ],
)
def test_bad_options_of_random_tensors(options):
    for lib in (torch, flow):
        given = {
            name: getattr(lib, option) if isinstance(option, str) else option
            for name, option in options.items()
        }
        with pytest.raises(ValueError, match=r"low|requires_grad|exclusive"):
            lib.testing.make_tensor(2, device="cpu", **given)
