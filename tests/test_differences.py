"""Rows of `docs/differences.md`, each by an example."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn

PLACE = {"placement": flow.placement("cpu", [0]), "sbp": flow.sbp.broadcast}
MATRIX = (flow.arange(9.0) - 4).reshape(3, 3)


def test_indices_are_int64():
    x = flow.tensor([3.0, 1.0, 3.0])
    for indices in (
        flow.sort(x)[1],
        flow.argsort(x),
        flow.argwhere(x),
        *flow.unique(x, return_inverse=True, return_counts=True)[1:],
    ):
        assert indices.dtype is flow.int64


def test_lengths_are_int64():
    packed = nn.utils.rnn.pack_padded_sequence(flow.ones(3, 2, 1), flow.tensor([3, 2]))
    assert nn.utils.rnn.pad_packed_sequence(packed)[1].tolist() == [3, 2]
    assert nn.utils.rnn.pad_packed_sequence(packed)[1].dtype is flow.int64


def test_norms_of_all_elements_and_of_matrices():
    assert flow.norm(MATRIX, float("inf")).item() == MATRIX.norm(float("inf")).item() == 4
    assert flow.linalg.norm(MATRIX, float("inf")).item() == 9


def test_dampening_begins_with_the_second_step():
    def weights(framework):
        weight = framework.ones(2, requires_grad=True)
        optimizer = framework.optim.SGD([weight], lr=1.0, momentum=0.9, dampening=0.5)
        found = []
        for _ in range(2):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
            found.append(weight.tolist())
        return found

    assert weights(flow) == weights(torch)


def test_state_dicts_hold_detached_tensors():
    layer = nn.Linear(2, 2)
    state = layer.state_dict()
    assert state["weight"] is not layer.weight
    state["weight"].fill_(2.0)
    assert layer.weight.sum().item() == 8
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight


def test_arrays_are_copies_of_tensors_that_were_not_made_of_arrays():
    tensor = flow.zeros(3)
    tensor.numpy()[:] = 5
    assert tensor.tolist() == [0, 0, 0]
    array = np.zeros(3)
    flow.from_numpy(array).numpy()[:] = 5
    assert array.tolist() == [5, 5, 5]
    assert flow.from_numpy(np.zeros((2, 3)).T).is_contiguous()


def test_greedy_decoding_keeps_labels_behind_blanks():
    steps = flow.tensor([[[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]])
    labels, _ = nn.functional.ctc_greedy_decoder(steps, flow.tensor([3]))
    assert labels.tolist() == [[1, 2, 0]]


def test_one_count_holds_for_all_elements():
    assert flow.repeat_interleave(flow.tensor([1, 2]), flow.tensor([2])).tolist() == [1, 1, 2, 2]


def test_splits_are_compared_with_the_tensor():
    assert flow.ones(2, 2, placement=PLACE["placement"], sbp=flow.sbp.split(-1)).sbp == (
        flow.sbp.split(1),
    )
    with pytest.raises(IndexError, match="does not fit a tensor of 1"):
        flow.ones(2).to_global(PLACE["placement"], flow.sbp.split(7))


@pytest.mark.parametrize("name", ["normal_", "uniform_"])
def test_parameters_are_not_filled_by_methods_of_pytorch(name):
    parameter = nn.Parameter(flow.zeros(2))
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(parameter, name)()
    assert getattr(nn.init, name)(parameter) is parameter


def test_types_of_errors_are_pytorchs():
    with pytest.raises(IndexError):
        _ = flow.tensor(1.0)[0]
    with pytest.raises(ValueError, match="step"):
        _ = flow.ones(3)[::0]


class Add(nn.Graph):
    def build(self, x, y):
        x += y
        return x


def test_arguments_that_build_writes_to_change():
    x = flow.ones(2)
    assert Add()(x, flow.ones(2)).tolist() == x.tolist() == [2, 2]


def test_global_tensors():
    x = flow.ones(2, **PLACE)
    assert x.device == x.placement
    assert (x + np.ones(2, np.float32)).tolist() == [2, 2]
    flags = flow.tensor([True, False]).to_global(PLACE["placement"], flow.sbp.partial_sum)
    assert flags.to_global(sbp=flow.sbp.broadcast).tolist() == [True, False]


def test_operands_of_meshgrid_on_several_ranks():
    place = flow.placement("cpu", [0, 1])
    rows = flow.arange(2, placement=place, sbp=flow.sbp.split(0))
    columns = flow.arange(3, placement=place, sbp=flow.sbp.broadcast)
    expected = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    for ours, theirs in zip(flow.meshgrid(rows, columns), expected, strict=True):
        assert ours.tolist() == theirs.tolist()


def test_divergence_from_a_negative_probability_is_0():
    target = flow.tensor([-0.9, 0.5])
    assert nn.KLDivLoss(reduction="none")(flow.zeros(2), target)[0].item() == 0


def test_a_bias_of_another_precision_is_converted():
    x, weight, bias = flow.ones(1, 1, 2), flow.ones(1, 1, 1), flow.tensor([0.5], dtype=flow.float64)
    result = nn.functional.conv1d(x, weight, bias)
    assert result.tolist() == [[[1.5, 1.5]]]
    assert result.dtype is flow.float32
    with pytest.raises(RuntimeError, match="bias type"):
        nn.functional.conv1d(x.int(), weight.int(), bias)


def test_like_another_tensor_on_a_placement():
    x = flow.ones(2, 2)
    likes = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")
    made = [getattr(flow, name)(x, **PLACE) for name in likes]
    made += [flow.full_like(x, 2.0, **PLACE), flow.randint_like(x, 1, 5, **PLACE)]
    assert all(tensor.is_global for tensor in made)


@pytest.mark.parametrize("pool", ["avg_pool1d", "max_pool1d"])
def test_the_second_derivative_of_pooling_does_not_depend_on_the_first_operand(pool):
    x = flow.ones(1, 1, 4, requires_grad=True)
    y = getattr(nn.functional, pool)(x, 2)
    g = flow.ones_like(y).requires_grad_()
    first = flow.autograd.grad(y, x, g, create_graph=True)[0]
    second = flow.autograd.grad(first, [x, g], flow.ones_like(first))
    assert [tensor.tolist() for tensor in second] == [[[[0.0] * 4]], [[[1.0] * 2]]]


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")
def test_gradients_of_variances_with_too_large_corrections_have_signs():
    for correction in (3, 4):
        slopes = []
        for dim in (None, 0):
            x = flow.tensor([1.0, 2.0, 6.0], requires_grad=True)
            flow.var(x, dim=dim, correction=correction).backward()
            slopes.append(x.grad.tolist())
        theirs = torch.tensor([1.0, 2.0, 6.0], requires_grad=True)
        torch.var(theirs, dim=0, correction=correction).backward()
        assert slopes == [theirs.grad.tolist()] * 2


def test_nan_stays_when_it_is_quantized():
    x = flow.tensor([float("nan"), 0.0])
    assert np.isnan(flow.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7).numpy()).tolist() == [
        True,
        False,
    ]
    assert np.isnan(flow.fake_quantize_per_tensor_affine(x, 0.0, 0, -8, 7).numpy()).all()
    scale, zero = flow.full((2,), 0.1), flow.zeros(2, dtype=flow.int32)
    per_channel = flow.fake_quantize_per_channel_affine(x, scale, zero, 0, -8, 7)
    assert np.isnan(per_channel.numpy()).tolist() == [True, False]


def test_gradients_reach_what_a_view_does_not_show():
    slopes = []
    for f in (flow, torch):
        weight = f.ones(4, 6, requires_grad=True)
        (weight * 1)[::2].as_strided((2, 2), (2, 1), 3).sum().backward()
        slopes.append((weight.grad[0].sum().item(), weight.grad[1, 0].item()))
    assert slopes == [(3, 1), (3, 0)]


def test_means_of_smoothed_losses_without_weight():
    losses = [
        f.nn.functional.cross_entropy(
            f.zeros(1, 2), f.tensor([0]), weight=f.tensor([0.0, 1.0]), label_smoothing=0.2
        ).item()
        for f in (flow, torch)
    ]
    assert losses[0] == np.inf
    assert np.isnan(losses[1])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiased_images_of_width_1(mode):
    options = {"size": (2, 1), "mode": mode, "antialias": True}
    theirs = torch.arange(24.0).reshape(1, 2, 4, 3)
    rows = [
        f.nn.functional.interpolate(x, **options)[0, 0, :, 0].numpy()
        for f, x in (
            (flow, flow.tensor(theirs.numpy())),
            (torch, theirs.contiguous(memory_format=torch.channels_last)),
            (torch, theirs),
        )
    ]
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-6)
    assert rows[2][0] == rows[2][1] != rows[1][1]


def test_nearest_elements_where_twice_the_size_comes_out():
    rows = [
        [
            f.nn.functional.interpolate(
                f.arange(3.0).expand(1, 1, *[3] * ndim), scale_factor=2.3, mode="nearest"
            )
            .flatten()[:6]
            .tolist()
            for ndim in (1, 2, 3)
        ]
        for f in (flow, torch)
    ]
    assert rows[0] == [[0, 0, 0, 1, 1, 2]] * 3
    assert rows[1] == [rows[0][0], [0, 0, 1, 1, 2, 2], rows[0][2]]


def test_hooks_of_several_gradients_run_once():
    calls = {}
    for f in (flow, torch):
        first, second, x = (f.full((1,), number, requires_grad=True) for number in (2.0, 3.0, 5.0))
        seen = calls[f.__name__] = []
        f.autograd.graph.register_multi_grad_hook([first, second], seen.append)
        y = x
        for weight in (first, second):
            y = f.utils.checkpoint.checkpoint(lambda y, w=weight: y * w, y, use_reentrant=True)
        y.backward()
    whole = [[None if g is None else g.item() for g in gradients] for gradients in calls["torch"]]
    assert whole == [[None, 10], [15, None]]
    assert [[g.item() for g in gradients] for gradients in calls["oneflow"]] == [[15, 10]]


def test_conjugates_are_sent_as_such():
    sent = []
    for f in (flow, torch):
        content = ForkingPickler.dumps(f.tensor([1 + 2j]).conj())
        sent.append(ForkingPickler.loads(content)[0].item())
    assert sent == [1 - 2j, 1 + 2j]
