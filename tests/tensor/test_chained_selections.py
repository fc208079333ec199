"""Writes through selections one after the other: ``x[0][1:3] = value`` is one update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow


def _write_at(steps: tuple, value: Any) -> Callable[[Any], None]:
    def run(x: Any) -> None:
        for step in steps[:-1]:
            x = x[step]
        x[steps[-1]] = value

    return run


def _write_behind_a_tensor(x: Any) -> None:
    x[:, 1:][x.new_tensor(1).long(), x.new_tensor(-1).long(), 1:] = 8


# Writes through several views, with the number of updates that the program records for them.
CHAINS = {
    "number that is a tensor": (_write_behind_a_tensor, 1),
    "two numbers": (_write_at((0, 1), 8), 1),
    "inner dimension first": (_write_at(((slice(None), 2), 1), 8), 1),
    "three numbers": (_write_at((1, (slice(None), -1), 0), 8), 1),
    "number, then slice": (_write_at((0, slice(1, 3)), 8), 1),
    "slice, then number": (_write_at((slice(1, 2), 0), 8), 1),
    "slice, then slice": (_write_at((slice(1, None), slice(None), slice(0, 1)), 8), 1),
    "steps of steps": (_write_at(((0, 0, slice(1, None, 2)), slice(1, None)), 8), 1),
    "steps, then number": (_write_at(((slice(None), slice(0, 3, 2)), (1, 1, slice(2))), 8), 1),
    "no elements": (_write_at((1, slice(2, 2)), 8), 1),
    "new dimension between": (_write_at((1, (None, slice(1, 3)), (0, 1)), 8), 2),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_selections_one_after_the_other_are_one_update(chain):
    write, updates = CHAINS[chain]

    def written(x):
        x = x * 1.0
        write(x)
        return x

    results = []
    for framework in (flow, torch):
        x = framework.arange(24, dtype=framework.float32).reshape(2, 3, 4).requires_grad_()
        y = written(x)
        (y * y).sum().backward()
        results.append((y.detach().numpy(), x.grad.numpy()))
    np.testing.assert_array_equal(*[values for values, _ in results])
    np.testing.assert_array_equal(*[gradients for _, gradients in results])
    text = str(flow.eager.record(written, flow.zeros(2, 3, 4)))
    assert text.count("_update(") == updates, text
