"""Functions that PyTorch alone has, compared with it or with what they mean."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.in_place import enabled, in_place_of

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
        return [tensor.detach().numpy() for tensor in (result, *(x.grad for x in operands))]

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
    with pytest.raises(RuntimeError, match="an end for each of the 2 groups, got 1"):
        grouped_mm(a, flow.ones(2, 1, 1), offs=flow.tensor([3], dtype=flow.int32))
    biased = grouped_mm(a[1:], flow.ones(1, 1, 1), offs=flow.tensor([2]), bias=flow.ones(1))
    assert biased.tolist() == [[2.0], [2.0]]


@pytest.mark.parametrize(
    ("ends", "bad"), [([2, 1], 1), ([-1, 2], -1), ([1, 9], 9), ([2**32 + 1, 3], 2**32 + 1)]
)
@pytest.mark.parametrize("shapes", [[(3, 1), (2, 1, 1)], [(2, 1, 1), (1, 3)], [(1, 3), (3, 1)]])
def test_ends_of_groups_are_in_order(shapes, ends, bad):
    grouped_mm = in_place_of("torch.nn.functional").grouped_mm
    a, b = (flow.ones(*shape) for shape in shapes)
    text = f"ascending order, from 0 to 3, got {bad}"
    with pytest.raises(IndexError, match=text):
        grouped_mm(a, b, offs=flow.tensor(ends)).numpy()
    for seen in ([0, 0], [0, 3], [2, 2]):
        assert grouped_mm(a, b, offs=flow.tensor(seen)).sum().item() == seen[1]


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


def _causal(b, h, q, k):
    return q >= k


SCORES = {
    "plain": (None, None),
    "bias": (lambda score, b, h, q, k: score + (q - k) * 0.1 * (h + 1), None),
    "bias alone": (lambda score, b, h, q, k: (q - k) * 0.1, None),
    "integers": (lambda score, b, h, q, k: q - k, None),
    "number": (lambda score, b, h, q, k: score.new_ones(()), _causal),
    "tanh": (lambda score, b, h, q, k: (score / 2).tanh() * 2, None),
    "causal": (None, _causal),
    "row without keys": (None, lambda b, h, q, k: q > k),
    "both": (lambda score, b, h, q, k: score * (b + 1), _causal),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("heads", [2, 4])
@pytest.mark.parametrize("name", SCORES)
def test_attention_with_functions_of_scores(name, heads):
    score_mod, mask_mod = SCORES[name]

    def outcome(framework, flex):
        draw = np.random.RandomState(0)
        shapes = (1, heads, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4)
        operands = [framework.tensor(draw.standard_normal(shape).tolist()) for shape in shapes]
        mask = mask_mod and flex.create_block_mask(mask_mod, None, None, 5, 7, "cpu", BLOCK_SIZE=2)
        result, further = flex.flex_attention(
            *operands,
            score_mod,
            mask,
            enable_gqa=heads == 4,
            return_aux=flex.AuxRequest(lse=True),
        )
        blocks = [mask.to_dense(), mask.sparsity()] if mask else []
        return [np.asarray(array) for array in (result, further.lse, *blocks)]

    name_of_module = "torch.nn.attention.flex_attention"
    ours = outcome(flow, in_place_of(name_of_module))
    theirs = outcome(torch, importlib.import_module(name_of_module))
    for mine, its in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lengths", [(4, 7), (6, 7), (5, 6), (5, 8), (5, 7)])
def test_masks_for_other_lengths_are_refused(lengths):
    name = "torch.nn.attention.flex_attention"
    outcomes = []
    for framework, flex in ((torch, importlib.import_module(name)), (flow, in_place_of(name))):
        operands = [framework.ones(1, 1, size, 4) for size in (5, 7, 7)]
        mask = flex.create_block_mask(_causal, None, None, *lengths, "cpu")
        try:
            flex.flex_attention(*operands, block_mask=mask)
        except ValueError:
            outcomes.append("refused")
        else:
            outcomes.append("taken")
    assert outcomes[1] == outcomes[0]


@pytest.mark.parametrize("mask_mod", [_causal, SCORES["row without keys"][1]])
def test_gradients_of_attention_are_those_of_the_whole_mask(mask_mod):
    flex = in_place_of("torch.nn.attention.flex_attention")
    operands = [flow.randn(1, 2, 5, 4, requires_grad=True) for _ in range(3)]
    mask = flex.create_block_mask(mask_mod, None, None, 5, 5)
    found = flex.flex_attention(*operands, block_mask=mask)
    whole = flex.create_mask(mask_mod, None, None, 5, 5)
    expected = flow.nn.functional.scaled_dot_product_attention(*operands, attn_mask=whole)
    expected = expected.nan_to_num()
    rows = whole.any(-1, keepdim=True)
    for mine, its in zip(
        flow.autograd.grad((found * rows).cos().sum(), operands),
        flow.autograd.grad((expected.masked_fill(~rows, 0)).cos().sum(), operands),
        strict=True,
    ):
        np.testing.assert_allclose(mine.numpy(), its.nan_to_num().numpy(), rtol=1e-4, atol=1e-5)


def test_masks_are_combined():
    flex = in_place_of("torch.nn.attention.flex_attention")
    near = lambda b, h, q, k: q - k < 2  # noqa: E731
    both = flex.create_mask(flex.and_masks(_causal, near), None, None, 3, 3)
    assert both.int().tolist() == [[[[1, 0, 0], [1, 1, 0], [0, 1, 1]]]]
    either = flex.create_mask(flex.or_masks(_causal, near), None, None, 3, 3)
    assert bool(either.all())
    assert flex.create_mask(flex.noop_mask, 2, 1, 2, 2).shape == (2, 1, 2, 2)
    with pytest.raises(RuntimeError, match="`mask_mods`"):
        flex.and_masks(3)
    x = flow.ones(1, 1, 2, 4)
    found = flex.flex_attention(x, x, x, return_aux=flex.AuxRequest(max_scores=True))[1]
    assert found.lse is None
    assert found.max_scores.tolist() == [[[2, 2]]]
    with pytest.raises(ValueError, match="`enable_gqa`"):
        flex.flex_attention(flow.ones(1, 4, 2, 4), flow.ones(1, 2, 2, 4), flow.ones(1, 2, 2, 4))


#: Calls with tensors of one number, `z` and `i`, where PyTorch's old forms have factors.
FACTORS = {
    "add": lambda lib, t, m, z, i: lib.add(t, i, t),
    "add, of a float": lambda lib, t, m, z, i: lib.add(t, z, t),
    "add, method": lambda lib, t, m, z, i: t.add(i, t),
    "add_": lambda lib, t, m, z, i: t.clone().add_(z, t),
    "add, out": lambda lib, t, m, z, i: lib.add(t, z, t, out=lib.zeros(2)),
    "add, broadcast": lambda lib, t, m, z, i: lib.add(t, z, m),
    "add, all of one": lambda lib, t, m, z, i: lib.add(z, z, z),
    "add, a number": lambda lib, t, m, z, i: lib.add(z, 3, z),
    "add, a leaf": lambda lib, t, m, z, i: lib.add(t, z.requires_grad_(), t),
    "add, integers by a float": lambda lib, t, m, z, i: lib.add(i, z, i),
    "sub": lambda lib, t, m, z, i: lib.sub(t, i, t),
    "sub_": lambda lib, t, m, z, i: t.clone().sub_(z, t),
    "addcmul": lambda lib, t, m, z, i: lib.addcmul(t, z, t, t),
    "addcdiv": lambda lib, t, m, z, i: lib.addcdiv(t, z, t, t),
    "addmm": lambda lib, t, m, z, i: lib.addmm(z, m, i, m, m),
    "addmm, beta alone": lambda lib, t, m, z, i: lib.addmm(z, m, m, m),
    "addmm, a tensor and a number": lambda lib, t, m, z, i: lib.addmm(z, m, 4, m, m),
    "addmv": lambda lib, t, m, z, i: lib.addmv(z, t, i, m, t),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FACTORS)
def test_tensors_of_one_number_are_factors_of_old_calls(name):
    def outcome(lib):
        t, m = lib.tensor([1.0, 2.0]), lib.tensor([[1.0, 2.0], [3.0, 4.0]])
        try:
            return FACTORS[name](lib, t, m, lib.tensor(2.5), lib.tensor(2)).tolist()
        except (TypeError, RuntimeError):
            return "refused"

    with enabled():
        mine = outcome(importlib.import_module("torch"))
    assert mine == outcome(torch)


def test_oneflow_adds_up_three_tensors_of_one_number():
    z = flow.tensor(2.5)
    assert flow.add(z, z, z).item() == 7.5
    with pytest.raises(RuntimeError, match="one shape and one dtype"):
        flow.add(flow.ones(2), z, flow.ones(2))
