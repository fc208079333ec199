"""Backward passes inside each other: deep ones work, endless ones end with an error."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.utils.checkpoint import checkpoint
from tests.sampling import Sample


def nested(library, depth):
    """The gradient of a function whose `backward` runs one of the same function, and so on."""

    class Nested(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            if not ctx.left:
                return gradient * 2 * x, None
            with library.enable_grad():
                again = x.detach().requires_grad_(True)
                Nested.apply(again, ctx.left - 1).sum().backward()
            return gradient * again.grad, None

    x = library.tensor([1.5, -2.0], requires_grad=True)
    Nested.apply(x, depth).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("depth", [9, 11, 200])
def test_deep_passes(depth):
    limit = sys.getrecursionlimit()
    np.testing.assert_array_equal(nested(flow, depth), nested(torch, depth))
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("depth", [30, 150])
def test_deep_checkpoints(depth, sample: Sample):
    """Each runs those inside of it again: their number is the square of the depth."""
    sample.take(f"checkpoints {depth}", 1 if depth < 100 else 10)

    def layer(x, left):
        y = x * 1.5
        return checkpoint(layer, y, left - 1, use_reentrant=True) if left else y

    x = flow.tensor([1.5, -2.0], requires_grad=True)
    layer(x, depth).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1.5 ** (depth + 1), rtol=1e-5)


def test_passes_without_an_end():
    """The error says so, and Python's limit is what it was; also in another thread."""

    def fail():
        with pytest.raises(RecursionError, match="backward passes may run inside each other"):
            nested(flow, 2000)
        failed.append(True)

    limit, failed = sys.getrecursionlimit(), []
    fail()
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert len(failed) == 2
    assert sys.getrecursionlimit() == limit
    np.testing.assert_allclose(nested(flow, 1), [3.0, -4.0])


def test_deep_passes_of_several_threads():
    """The limit is that of the process: the first that ends must not take it from the others."""
    limit = sys.getrecursionlimit()
    depths = [150, 250, 100, 200]
    results = {}
    threads = [
        threading.Thread(target=lambda depth=depth: results.update({depth: nested(flow, depth)}))
        for depth in depths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(depths)
    for result in results.values():
        np.testing.assert_allclose(result, [3.0, -4.0])
    assert sys.getrecursionlimit() == limit
