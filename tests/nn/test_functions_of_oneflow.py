"""Functions that PyTorch lacks or that are random: against formulas and by their properties."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import assert_twins_agree, copy_state, random_array
from tests.oracle import to_flow

F = flow.nn.functional
X = random_array(3, 4)
LABELS = np.array([0, 3, 1])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_activations():
    np.testing.assert_allclose(F.quick_gelu(to_flow(X)).numpy(), X * sigmoid(1.702 * X))
    np.testing.assert_allclose(F.square_relu(to_flow(X)).numpy(), np.maximum(X, 0) ** 2)
    for module, function in (
        (flow.nn.QuickGELU(), F.quick_gelu),
        (flow.nn.SquareReLU(), F.square_relu),
    ):
        assert np.array_equal(module(to_flow(X)).numpy(), function(to_flow(X)).numpy())


@pytest.mark.parametrize("function", [F.quick_gelu, F.square_relu])
def test_gradients_of_activations(function):
    assert flow.autograd.gradcheck(function, (to_flow(X + 0.01).requires_grad_(),))


def test_normalisation_by_the_sum_of_squares():
    result = F.l2_normalize(to_flow(X), 1, epsilon=1e-10).numpy()
    np.testing.assert_allclose(result, X / np.sqrt((X**2).sum(1, keepdims=True)))
    assert F.l2_normalize(flow.zeros(2)).tolist() == [0, 0]


def test_cross_entropy_of_labels_and_logits():
    logits = to_flow(X)
    mine = F.sparse_softmax_cross_entropy(to_flow(LABELS), logits)
    expected = F.cross_entropy(logits, to_flow(LABELS), reduction="none")
    assert np.array_equal(mine.numpy(), expected.numpy())


def test_labels_of_other_integer_types():
    expected = F.cross_entropy(to_flow(X), to_flow(LABELS)).item()
    for dtype in (np.int32, np.uint8):
        assert F.cross_entropy(to_flow(X), to_flow(LABELS.astype(dtype))).item() == expected


def test_a_wrong_label_is_found_when_something_is_read():
    loss = F.cross_entropy(to_flow(X), flow.tensor([0, 4, 1]))
    with pytest.raises(IndexError, match=r"Target 4 is out of bounds.*test_functions_of_oneflow"):
        loss.item()


@pytest.mark.parametrize(("m1", "m2", "m3"), [(1.0, 0.0, 0.35), (1.0, 0.5, 0.0), (1.35, 0.1, 0.2)])
def test_combined_margin(m1, m2, m3):
    x = to_flow(X).requires_grad_()
    result = flow.nn.CombinedMarginLoss(m1, m2, m3)(x, to_flow(LABELS))
    expected = X.copy()
    rows = np.arange(3)
    expected[rows, LABELS] = np.cos(m1 * np.arccos(X[rows, LABELS]) + m2) - m3
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-7)
    assert flow.autograd.gradcheck(
        lambda x: F.combined_margin_loss(x, to_flow(LABELS), m1, m2, m3), (x,)
    )


def test_greedy_decoding():
    best = np.array([[1, 1, 0, 1, 2], [0, 2, 2, 0, 0]])
    log_probs = np.where(np.arange(3) == best.T[..., None], -0.25, -3.0)
    labels, cost = F.ctc_greedy_decoder(to_flow(log_probs), flow.tensor([5, 3]))
    assert labels.tolist() == [[1, 1, 2, 0, 0], [2, 0, 0, 0, 0]]
    np.testing.assert_allclose(cost.numpy(), [[1.25], [0.75]])
    repeated, _ = F.ctc_greedy_decoder(to_flow(log_probs), flow.tensor([5, 3]), False)
    assert repeated.tolist() == [[1, 1, 1, 2, 0], [2, 2, 0, 0, 0]]


def test_both_orders_of_smooth_l1_arguments():
    x, y = to_flow(X), to_flow(X[::-1].copy())
    expected = F.smooth_l1_loss(x, y, beta=0.5, reduction="sum").item()
    assert F.smooth_l1_loss(x, y, 0.5, "sum").item() == expected
    assert F.smooth_l1_loss(logits=x, label=y, reduction="sum", beta=0.5).item() == expected


def test_other_spellings_of_arguments():
    x = to_flow(X)
    assert F.leaky_relu(x, negative_slope=0.5).tolist() == F.leaky_relu(x, alpha=0.5).tolist()
    assert F.softshrink(x, lambd=0.1).tolist() == F.softshrink(x, alpha=0.1).tolist()
    assert F.relu(input=x).tolist() == F.relu(x=x).tolist()
    assert F.softmax(x, axis=1).tolist() == F.softmax(x, dim=1).tolist()


# --- random functions


def test_random_slopes():
    x = -flow.ones(1000)
    slopes = -F.rrelu(x, 0.25, 0.5, training=True).numpy()
    assert 0.25 <= slopes.min() < 0.27
    assert 0.48 < slopes.max() < 0.5
    layer = flow.nn.RReLU(0.25, 0.5)
    assert not np.array_equal(layer(x).numpy(), layer(x).numpy())
    assert np.array_equal(layer.eval()(x).numpy(), np.full(1000, -0.375, np.float32))


def test_random_slopes_are_those_of_the_gradient():
    x = (-flow.ones(10)).requires_grad_()
    y = F.rrelu(x, training=True)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), -y.detach().numpy())


def test_gumbel_softmax_chooses_by_probability():
    flow.manual_seed(0)
    logits = flow.tensor([0.1, 0.2, 0.7]).log().expand(20000, 3)
    choices = F.gumbel_softmax(logits, hard=True).numpy()
    assert set(np.unique(choices)) == {0.0, 1.0}
    np.testing.assert_allclose(choices.mean(0), [0.1, 0.2, 0.7], atol=0.02)
    soft = F.gumbel_softmax(logits[:10], tau=0.5).numpy()
    np.testing.assert_allclose(soft.sum(1), np.ones(10), rtol=1e-5)


def test_gumbel_softmax_has_the_soft_gradient():
    x = flow.zeros(2, 3, requires_grad=True)
    (F.gumbel_softmax(x, 1.0, True) * flow.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert np.abs(x.grad.numpy()).max() > 0
    np.testing.assert_allclose(x.grad.numpy().sum(1), [0, 0], atol=1e-6)


# --- modules


def test_mlp_in_one_module():
    mine = flow.nn.FusedMLP(4, (6, 5), 3, skip_final_activation=True).double()
    theirs = torch.nn.Sequential(
        torch.nn.Linear(4, 6),
        torch.nn.ReLU(),
        torch.nn.Linear(6, 5),
        torch.nn.ReLU(),
        torch.nn.Linear(5, 3),
    ).double()
    layers = torch.nn.ModuleList([theirs[0], theirs[2], theirs[4]])
    for layer, weight, bias in zip(layers, mine.weights(), mine.biases(), strict=True):
        layer.weight.data, layer.bias.data = (torch.tensor(t.numpy()) for t in (weight, bias))
    result = mine(to_flow(X))
    np.testing.assert_allclose(result.numpy(), theirs(torch.tensor(X)).detach().numpy())
    with pytest.raises(ValueError, match="2 hidden layers"):
        flow.nn.FusedMLP(4, (6, 5), 3, hidden_dropout_rate=[0.5])


def test_pretrained_embeddings_are_frozen():
    table = to_flow(X)
    embedding = flow.nn.Embedding.from_pretrained(table, padding_idx=1)
    assert not embedding.weight.requires_grad
    assert embedding(flow.tensor([2])).tolist() == [X[2].tolist()]
    assert flow.nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    with pytest.raises(AssertionError, match="2 dimensions"):
        flow.nn.Embedding.from_pretrained(table[0])


def test_bags_of_pretrained_embeddings_are_pytorchs():
    sums = []
    for lib, table in ((flow, to_flow(X)), (torch, torch.tensor(X))):
        bags = lib.nn.EmbeddingBag.from_pretrained(table, mode="sum", include_last_offset=True)
        assert not bags.weight.requires_grad
        sums.append(bags(lib.tensor([0, 1, 1]), lib.tensor([0, 2, 3])).numpy())
    np.testing.assert_allclose(*sums, rtol=1e-6)


def test_long_embedding_vectors_are_shortened_in_place():
    mine, theirs = (
        lib.nn.Embedding(3, 4, max_norm=1.0, _weight=make(X * 3))
        for lib, make in ((flow, to_flow), (torch, torch.tensor))
    )
    copy_state(mine, theirs)
    assert_twins_agree(mine, theirs, [np.array([2, 0])])
    np.testing.assert_allclose(mine.weight.numpy(), theirs.weight.detach().numpy())


def test_pixel_shuffle_with_two_factors():
    x = to_flow(random_array(1, 6, 2, 2))
    y = flow.nn.PixelShuffle(h_upscale_factor=3, w_upscale_factor=2)(x)
    assert y.shape == (1, 1, 6, 4)
    np.testing.assert_array_equal(y.numpy()[0, 0, :3, 0], x.numpy()[0, [0, 2, 4], 0, 0])
    with pytest.raises(ValueError, match="give either"):
        flow.nn.PixelShuffle(2, 3, 2)


def test_a_sample_of_classes_has_those_that_occur():
    weight = flow.randn(50, 4, requires_grad=True)
    label = flow.tensor([7, 49, 0, 7])
    layer = flow.nn.DistributedPariticalFCSample(10)
    samples = []
    for _ in range(3):
        mapped, chosen, rows = layer(weight, label)
        numbers = chosen.tolist()
        assert sorted(set(numbers)) == numbers
        assert (chosen[mapped].tolist(), len(numbers)) == (label.tolist(), 10)
        assert flow.equal(rows, weight[chosen])
        samples.append(tuple(numbers))
    assert len(set(samples)) > 1
    rows.sum().backward()
    assert weight.grad.sum(1).nonzero().squeeze(1).tolist() == numbers
    placed = {"placement": flow.placement("cpu", [0, 1]), "sbp": flow.sbp.split(0)}
    whole = flow.ones(50, 4, **placed)
    mapped, chosen, rows = layer(whole, label.to_global(placed["placement"], flow.sbp.broadcast))
    assert chosen.numpy()[mapped.numpy()].tolist() == label.tolist()
    assert rows.shape == (10, 4)
    for count in (0, 51):
        with pytest.raises(RuntimeError, match="50 classes"):
            flow.distributed_partial_fc_sample(weight, label, count)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", [([], False), ([0], True)])
def test_no_bags(mode, offsets):
    table = flow.ones(5, 2, requires_grad=True)
    starts, include_last = flow.tensor(offsets[0], dtype=flow.int64), offsets[1]
    bag = flow.nn.functional.embedding_bag
    for _ in range(2):
        found = bag(flow.tensor([0, 4]), table, starts, mode=mode, include_last_offset=include_last)
        assert found.shape == (0, 2)
        found.sum().backward()
        assert table.grad.tolist() == [[0.0] * 2] * 5


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_the_last_offset_ends_the_last_bag(mode):
    """PyTorch's own kernels differ in this; its documentation does not."""
    table, indices = flow.arange(10.0).reshape(5, 2) - 3, flow.tensor([0, 4, 1, 1, 2])
    options = {"mode": mode, "include_last_offset": True}
    ends = flow.tensor([0, 2, 4])
    bag = flow.nn.functional.embedding_bag
    assert flow.equal(
        bag(indices, table, ends, **options), bag(indices[:4], table, ends, **options)
    )
