"""Functions without a derivative require grad, and refuse a backward pass, as PyTorch's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow
from tests.autograd.both import agree

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "unique": lambda lib, x: lib.unique(x),
    "unique along a dimension": lambda lib, x: lib.unique(x, dim=0),
    "unique with counts": lambda lib, x: lib.unique(x, return_counts=True)[0],
    "unique_consecutive": lambda lib, x: lib.unique_consecutive(x),
    "bincount of weights": lambda lib, x: lib.bincount(lib.tensor([0, 1, 1]), x),
    "histogram": lambda lib, x: lib.histogram(x, 3)[0],
    "edges of a histogram": lambda lib, x: lib.histogram(x, 3)[1],
    "histogram of weights": lambda lib, x: lib.histogram(lib.ones(3), 3, weight=x)[0],
    "histogramdd": lambda lib, x: lib.histogramdd(x.reshape(1, 3), [2, 2, 2])[0],
    "heaviside": lambda lib, x: lib.heaviside(x, lib.ones(3)),
    "values of heaviside": lambda lib, x: lib.heaviside(lib.zeros(3), x),
    "zeta": lambda lib, x: lib.special.zeta(x + 1, lib.ones(3)),
    "binomial": lambda lib, x: lib.binomial(lib.ones(3), x / 4),
    "counts of binomial": lambda lib, x: lib.binomial(x, lib.ones(3) / 4),
    "ldl_factor": lambda lib, x: lib.linalg.ldl_factor(x.outer(x) + lib.eye(3))[0],
    "geqrf": lambda lib, x: lib.geqrf(x.outer(x))[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_backward_pass_is_refused(name: str) -> None:
    for lib in (torch, flow):
        x = lib.tensor([1.0, 2.0, 2.0], requires_grad=True)
        with lib.no_grad():
            assert not FUNCTIONS[name](lib, x).requires_grad
        assert not FUNCTIONS[name](lib, x.detach()).requires_grad
        result = FUNCTIONS[name](lib, x)
        assert result.requires_grad
        kind = RuntimeError if lib is torch else NotImplementedError
        with pytest.raises(kind, match="is not implemented"):
            (result.sum() + x.sum()).backward()


def test_zeta_has_one_of_two_derivatives() -> None:
    def case(lib: Any) -> Any:
        x = lib.tensor([2.0, 3.5], dtype=lib.float64)
        y = lib.tensor([1.5, 0.25], dtype=lib.float64, requires_grad=True)
        (first,) = lib.autograd.grad(lib.special.zeta(x, y).sum(), y, create_graph=True)
        return first, *lib.autograd.grad(first.sum(), y)

    agree(case)
