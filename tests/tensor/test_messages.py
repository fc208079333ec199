"""Messages about frequent mistakes: what is wrong, the values, and what to do."""

from __future__ import annotations

import http

import numpy as np
import pytest

import oneflow as flow

LAYER = flow.nn.Linear(4, 2)
RANKS = flow.placement("cpu", [0])
CASES = {
    "an array for a tensor": (
        lambda: LAYER(np.ones((3, 4), np.float32)),
        TypeError,
        "takes tensors and numbers, got ndarray",
    ),
    "a number of a class of its own for a tensor": (
        lambda: LAYER(http.HTTPStatus.OK),
        TypeError,
        "takes tensors and numbers, got HTTPStatus",
    ),
    "a list for a tensor": (
        lambda: LAYER([1.0, 2.0, 3.0, 4.0]),
        TypeError,
        "takes tensors and numbers, got list",
    ),
    "an image of bytes": (
        lambda: flow.nn.Conv2d(3, 8, 3)(flow.ones(1, 3, 8, 8, dtype=flow.uint8)),
        RuntimeError,
        r"uint8\[1,3,8,8\].*float32\[8,3,3,3\].*convert one with `.to\(dtype\)`",
    ),
    "rows of different lengths": (
        lambda: flow.tensor([[1, 2], [3]]),
        ValueError,
        r"\[\[1, 2\], \[3\]\]: lists must be nested like a grid",
    ),
    "ranks of different lengths": (
        lambda: flow.placement("cpu", [[0, 1], [2]]),
        ValueError,
        r"like a grid, got \[\[0, 1\], \[2\]\]",
    ),
    "the name of a signature": (
        lambda: flow.ones(2).to_global(RANKS, "split"),
        TypeError,
        r"split\(dim\), .broadcast, .partial_sum or a list of them, got 'split'",
    ),
    "a fraction for a number of parts": (
        lambda: flow.ones(4).tensor_split(flow.tensor(2.0)),
        RuntimeError,
        "must be a number, or a tensor of integers .* of oneflow.float32 with 0 dimensions",
    ),
    "fractions for positions": (
        lambda: flow.ones(4).tensor_split(flow.tensor([1.0, 2.0])),
        RuntimeError,
        "oneflow.float32 with 1 dimensions",
    ),
    "a mask for positions": (
        lambda: flow.ones(2).tensor_split(flow.tensor([True, False])),
        RuntimeError,
        "oneflow.bool with 1 dimensions",
    ),
    "a grid of positions": (
        lambda: flow.ones(4).tensor_split(flow.tensor([[1, 2]])),
        RuntimeError,
        "oneflow.int64 with 2 dimensions",
    ),
    "a copy of a module": (lambda: LAYER.to(flow.float32, copy=True), RuntimeError, "deepcopy"),
    "a copy of a module by position": (
        lambda: LAYER.to("cpu", flow.float32, False, True),
        RuntimeError,
        "deepcopy",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, error, text = CASES[name]
    with pytest.raises(error, match=text):
        call()


def test_misspelt_attributes_of_modules_come_with_a_suggestion():
    with pytest.raises(AttributeError) as caught:
        _ = LAYER.wieght
    # From these Python makes "Did you mean: 'weight'?".
    assert (caught.value.name, caught.value.obj) == ("wieght", LAYER)
    assert "weight" in dir(LAYER)
