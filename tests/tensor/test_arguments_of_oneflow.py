"""Arguments that OneFlow 0.9 accepts and PyTorch does not, or takes otherwise, of every day."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

INTEGERS = ["bool", "uint8", "int8", "int32", "int64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_masks_of_integers(dtype):
    numbers = np.array([2, 0, 1]).astype(dtype)
    mask = flow.tensor(numbers)
    x, y = flow.tensor([1.0, 2.0, 3.0]), flow.tensor([-1.0, -2.0, -3.0])
    chosen = numbers.astype(bool)
    np.testing.assert_array_equal(
        flow.masked_fill(x, mask, 5.0).numpy(), np.where(chosen, 5, x.numpy())
    )
    np.testing.assert_array_equal(flow.masked_select(x, mask).numpy(), x.numpy()[chosen])
    expected = np.where(chosen, x.numpy(), y.numpy())
    for result in (flow.where(mask, x, y), mask.where(x, y), x.where(mask.bool(), y)):
        np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(y.masked_scatter(mask, x).numpy(), [1, -2, 2])


@pytest.mark.parametrize("name", ["masked_fill", "masked_select", "where", "masked_scatter"])
def test_masks_of_other_dtypes_are_refused(name):
    x, mask = flow.ones(2), flow.tensor([1.0, 0.0])
    rest = {"masked_fill": (1.0,), "masked_select": (), "masked_scatter": (x,)}
    arguments = (mask, x, x) if name == "where" else (x, mask, *rest[name])
    function = getattr(flow, name, None) or getattr(flow.Tensor, name)
    with pytest.raises(RuntimeError, match=r"(?i)bool.*float32"):
        function(*arguments)


def test_sums_of_more_than_two():
    a, b, c = flow.tensor([1, 2]), flow.tensor([10, 20]), flow.tensor([100, 200])
    assert flow.add(a, b, c, 1).tolist() == [112, 223]
    assert a.add(b, b, alpha=2).tolist() == [31, 62]
    with pytest.raises(TypeError, match="second"):
        flow.add(a, 2, b, c)
    assert flow.add(a, 2, b).tolist() == [21, 42]  # a factor, as in old programs for PyTorch


@pytest.mark.parametrize("differing", [flow.ones(2, 2), flow.ones(1), flow.ones(2).double()])
@pytest.mark.parametrize("position", range(3))
def test_sums_of_more_than_two_are_not_broadcast(position, differing):
    operands = [flow.ones(2), flow.ones(2), flow.ones(2)]
    operands[position] = differing
    for add_up in (flow.add, flow._C.add, lambda *inputs: flow.math.add_n(inputs)):
        with pytest.raises(RuntimeError, match="one shape and one dtype"):
            add_up(*operands)
    with pytest.raises(RuntimeError, match="one shape and one dtype"):
        flow.math.add_n([flow.ones(2), differing])


def test_a_size_by_keyword_beside_other_keywords():
    assert flow.normal(size=(2, 3), mean=0.0, std=1.0).shape == (2, 3)
    assert flow.normal(1.0, size=(2,), std=0.0).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="missing"):
        flow.permute(dims=(1, 0))


def test_dims_of_tensordot_as_a_tensor():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4, 5)), np.ones((4, 5, 2))
    got = flow.tensordot(flow.tensor(a), flow.tensor(b), dims=flow.tensor([2]))
    np.testing.assert_allclose(got.numpy(), np.tensordot(a, b, 2))
    got = flow.tensordot(flow.tensor(a), flow.tensor(b), dims=flow.tensor([[2, 3], [0, 1]]))
    np.testing.assert_allclose(got.numpy(), np.tensordot(a, b, 2))


@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (4, 1, 2, 3), (1, 5, 2, 3), (1, 2, 3), (2, 3)])
def test_strides_of_new_dimensions(shape):
    assert flow.ones(2, 3).expand(shape).stride() == torch.ones(2, 3).expand(shape).stride()
    assert flow.ones(2, 1).expand(shape).stride() == torch.ones(2, 1).expand(shape).stride()
    ones = (1,) * len(shape)
    assert flow.tensor(1.0).expand(ones).stride() == torch.tensor(1.0).expand(ones).stride()


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize(
    "index",
    [
        [[0, 1], [0, 1], [1, 0]],
        [slice(None), 1],
        [0, None],
        [[0, 1], slice(1, 3)],
        [..., [0, 2]],
        [[0, 1]],
        [0, 1],
    ],
    ids=str,
)
def test_lists_that_stand_for_tuples(index):
    x = np.arange(120).reshape(2, 3, 4, 5)
    expected = torch.tensor(x)[index].numpy()
    ours = flow.tensor(x)
    np.testing.assert_array_equal(ours[index].numpy(), expected)
    ours[index] = -1
    assert (ours == -1).sum().item() == expected.size


def test_limits_in_decimal():
    for name in ("float16", "float32", "float64", "bfloat16"):
        ours, theirs = flow.finfo(getattr(flow, name)), torch.finfo(getattr(torch, name))
        assert ours.resolution == pytest.approx(theirs.resolution, rel=1e-12)
    assert flow.finfo(flow.float32).resolution == 1e-6


def test_the_dtype_of_unique_where_oneflow_has_it():
    x = flow.tensor([3, 1, 3])
    values, counts = flow.unique(x, True, False, True, flow.int32)
    assert (values.tolist(), counts.tolist(), counts.dtype) == ([1, 3], [1, 2], flow.int32)
    assert x.unique(True, flow.int32).tolist() == [1, 3]


def test_deepcopy_of_a_computed_tensor_is_a_leaf():
    x = flow.ones(2, requires_grad=True)
    y = x * 2
    z = copy.deepcopy(y)
    assert z.tolist() == [2.0, 2.0]
    assert z.is_leaf
    assert not z.requires_grad
    z.zero_()
    assert y.tolist() == [2.0, 2.0]


def test_parameters_of_integers():
    p = nn.Parameter(flow.tensor([1, 2]))
    assert isinstance(p, nn.Parameter)
    assert not p.requires_grad
    net = nn.Module()
    net.count = p
    assert net.state_dict()["count"].tolist() == [1, 2]


def test_copy_into_a_parameter():
    layer = nn.Linear(2, 2)
    layer.weight.copy_(np.ones((2, 2), dtype=np.float32))
    assert layer.weight.is_leaf
    assert layer.weight.requires_grad
    assert layer.weight.sum().item() == 4
    layer(flow.ones(1, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(RuntimeError, match="leaf"):
        layer.bias.copy_(flow.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="leaf"):
        layer.bias.fill_(1.0)


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("logits", "labels"),
    [((4, 3), (4, 1)), ((4, 3, 5), (4, 1, 5)), ((4, 3, 5), (4, 5, 1)), ((3,), (1,))],
)
def test_labels_with_a_dimension_of_size_1(loss, reduction, logits, labels):
    generator = np.random.default_rng(1)
    x = flow.tensor(generator.normal(size=logits))
    target = flow.tensor(generator.integers(0, 3, labels))
    expected_shape = () if len(logits) == 1 else (logits[0], *logits[2:])
    expected = loss(x, target.reshape(expected_shape), reduction=reduction)
    np.testing.assert_array_equal(loss(x, target, reduction=reduction).numpy(), expected.numpy())


def test_labels_of_another_shape_are_refused():
    with pytest.raises(RuntimeError, match="shape"):
        F.cross_entropy(flow.ones(4, 3), flow.ones(4, 2, dtype=flow.int64))
    with pytest.raises(ValueError, match="batch_size"):
        F.cross_entropy(flow.ones(4, 3), flow.ones(1, 4, dtype=flow.int64))


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_weight_norm_with_one_size_for_all():
    for dim in (-1, None, 0, 1):
        ours = nn.utils.weight_norm(nn.Linear(2, 4), dim=dim)
        theirs = torch.nn.utils.weight_norm(torch.nn.Linear(2, 4), dim=dim)
        assert tuple(ours.weight_g.shape) == tuple(theirs.weight_g.shape)


def test_count_of_nonzero_elements_has_a_gradient_of_zeros():
    values = [[0.0, 2.0], [float("nan"), -1.0]]
    ours = flow.tensor(values, requires_grad=True)
    theirs = torch.tensor(values, requires_grad=True)
    got, want = flow.linalg.vector_norm(ours, 0), torch.linalg.vector_norm(theirs, 0)
    assert got.item() == want.item()
    got.backward()
    want.backward()
    assert ours.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert theirs.grad is None


def test_ranks_of_a_placement_are_an_array():
    for ranks in ([0], [[0, 1], [2, 3]]):
        placement = flow.placement("cpu", ranks)
        assert placement.ranks.dtype == np.int64
        assert placement.ranks.tolist() == ranks
        assert str(ranks) in repr(placement)
        assert flow.placement("cpu", placement.ranks) is placement
        assert copy.deepcopy(placement) is placement


def test_dropout_in_place_after_softmax():
    x = flow.randn(2, 3, requires_grad=True)
    for activate in (F.softmax, F.log_softmax):
        p = activate(x, dim=-1)
        kept = p.detach().clone()
        F.dropout(p, 0.5, inplace=True)
        assert not np.array_equal(p.numpy(), kept.numpy()) or not kept.numpy().any()
        (gradient,) = flow.autograd.grad(p.sum(), x)
        assert gradient.shape == (2, 3)


def test_unique_elements_as_they_first_appear():
    x = np.array([5, 3, 9, 5, 1])
    values, inverse, counts = flow.unique(
        flow.tensor(x), sorted=False, return_inverse=True, return_counts=True
    )
    assert values.tolist() == [5, 3, 9, 1]
    assert values[inverse].tolist() == x.tolist()
    assert counts.tolist() == [2, 1, 1, 1]
    rows = flow.tensor([[2, 1, 2], [0, 5, 0]])
    assert flow.unique(rows, sorted=False, dim=1).tolist() == [[2, 1], [0, 5]]


def test_negative_targets_of_the_divergence_count_as_none():
    x = flow.tensor([-0.9021705, 0.08798598, 1.04686249], requires_grad=True)
    target = flow.tensor([1.22386942, -0.89729659, 0.01615712])
    loss = nn.KLDivLoss(reduction="none")(x, target)
    np.testing.assert_allclose(loss.tolist(), [1.3514, 0, -0.0836], atol=1e-4)
    loss.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [-1.22386942, 0, -0.01615712])
    assert F.kl_div(flow.ones(1), flow.tensor([np.nan]), reduction="none").isnan().item()


def _global(*shape):
    return flow.ones(*shape, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast)


REFUSED = {
    "a dimension twice": lambda: flow.tensordot(
        flow.ones(1, 2, 3), flow.ones(1, 2, 3), dims=[[1, 1], [1, 1]]
    ),
    "updates of another dtype": lambda: flow.tensor_scatter_nd_update(
        flow.arange(8.0), flow.tensor([[1]]), flow.tensor([-1], dtype=flow.float64)
    ),
    "to like a global tensor": lambda: flow.ones(2).to(_global(2)),
    "a global tensor to like a local one": lambda: _global(2).to(flow.ones(2)),
    "a batch of no dimensions": lambda: flow.batch_gather(flow.tensor(1), flow.tensor([1])),
    "indices of no dimensions": lambda: flow.batch_gather(flow.ones(2), flow.tensor(1)),
    "repeats of another size": lambda: flow.repeat_interleave(
        flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 2, 3]), dim=1
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_the_call(case):
    with pytest.raises(RuntimeError, match=r"dim|dtype|local"):
        REFUSED[case]()
