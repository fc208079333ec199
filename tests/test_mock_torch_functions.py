"""Functions that PyTorch alone has, compared with it or with what they mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.in_place import in_place_of

#: Shapes of both operands; the groups are those of `ENDS`, and fill the dimension or do not.
SHAPES = [((8, 4), (3, 4, 8)), ((3, 4, 8), (8, 8)), ((4, 8), (8, 8)), ((3, 4, 8), (3, 8, 4))]
ENDS = [3, 3, 8]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_products_of_groups(shapes):
    def outcome(framework, function):
        draw = np.random.RandomState(0)
        operands = [
            framework.tensor(draw.standard_normal(shape).tolist(), requires_grad=True)
            for shape in shapes
        ]
        ends = framework.tensor(ENDS, dtype=framework.int32)
        options = {} if all(len(shape) == 3 for shape in shapes) else {"offs": ends}
        result = function(*operands, **options)
        result.cos().sum().backward()
        return [each.detach().numpy() for each in (result, *(x.grad for x in operands))]

    ours = outcome(flow, in_place_of("torch.nn.functional").grouped_mm)
    theirs = outcome(torch, torch.nn.functional.grouped_mm)
    for mine, its in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)


def test_products_of_groups_keep_groups_apart():
    grouped_mm = in_place_of("torch.nn.functional").grouped_mm
    a = flow.tensor([[float("nan")], [1.0], [1.0]])
    result = grouped_mm(a, flow.ones(2, 1, 1), offs=flow.tensor([1, 2], dtype=flow.int32))
    assert result[1:].flatten().tolist() == [1, 0]
    with pytest.raises(ValueError, match="`offs` must be given"):
        grouped_mm(a, flow.ones(2, 1, 1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 6, 7])
def test_associative_scans(count, reverse):
    scan = in_place_of("torch._higher_order_ops.associative_scan").associative_scan
    decay = flow.rand(2, count, 3, requires_grad=True)
    inputs = flow.rand(2, count, 3, requires_grad=True)

    def combine(first, second):
        return {"a": first["a"] * second["a"], "b": first["b"] * second["a"] + second["b"]}

    found = scan(combine, {"a": decay, "b": inputs}, 1, reverse=reverse)["b"]
    order = range(count - 1, -1, -1) if reverse else range(count)
    states, state = {}, 0
    for place in order:
        state = state * decay[:, place] + inputs[:, place]
        states[place] = state
    expected = flow.stack([states[place] for place in range(count)], 1)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    for mine, its in zip(
        flow.autograd.grad(found.cos().sum(), [decay, inputs], materialize_grads=True),
        flow.autograd.grad(expected.cos().sum(), [decay, inputs]),
        strict=True,
    ):
        np.testing.assert_allclose(mine.numpy(), its.numpy(), rtol=1e-4, atol=1e-6)
