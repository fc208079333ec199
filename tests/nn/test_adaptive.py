"""The softmax layer of many classes against PyTorch's."""

import numpy as np
import pytest
import torch

import oneflow as flow

_random = np.random.default_rng(0)
INPUT = _random.standard_normal((7, 16)).astype(np.float32)
TARGET = np.array([0, 3, 4, 9, 10, 19, 2])


def layers(**options):
    """One layer of both libraries, with the same weights."""
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], **options)
    mine = flow.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], **options)
    state = {name: flow.tensor(value.numpy()) for name, value in theirs.state_dict().items()}
    mine.load_state_dict(state)
    return mine, theirs


def agree(mine, theirs):
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"div_value": 2.0, "head_bias": True}])
def test_outputs_losses_and_gradients_are_pytorchs(options):
    results, inputs = [], []
    both = layers(**options)
    for lib, layer in zip((flow, torch), both, strict=True):
        x = lib.tensor(INPUT).requires_grad_()
        output, loss = layer(x, lib.tensor(TARGET))
        loss.backward()
        results.append([output, loss, x.grad, *(p.grad for p in layer.parameters())])
        inputs.append(x)
    for mine, theirs in zip(*results, strict=True):
        agree(mine, theirs)
    mine, theirs = both
    agree(mine.log_prob(inputs[0]), theirs.log_prob(inputs[1]))
    assert mine.predict(inputs[0]).tolist() == theirs.predict(inputs[1]).tolist()


def test_one_row():
    mine, theirs = layers()
    one = (
        mine(flow.tensor(INPUT[0]), flow.tensor(11)),
        theirs(torch.tensor(INPUT[0]), torch.tensor(11)),
    )
    for tensor, other in zip(*one, strict=True):
        assert tensor.shape == tuple(other.shape)
        agree(tensor, other)


@pytest.mark.parametrize("cutoffs", [[], [0, 3], [3, 3], [5, 2], [20]])
def test_cutoffs_that_make_no_clusters(cutoffs):
    with pytest.raises(ValueError, match="cutoffs"):
        flow.nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs)


@pytest.mark.parametrize("target", [[1, 2], [[1]], [1, 20, 0], [1, -1, 0]])
def test_targets_that_do_not_fit(target):
    mine, theirs = layers()
    with pytest.raises(RuntimeError):
        theirs(torch.tensor(INPUT[:3]), torch.tensor(target))
    with pytest.raises(RuntimeError):
        mine(flow.tensor(INPUT[:3]), flow.tensor(target)).loss.item()


def test_new_first_values():
    layer, _ = layers(head_bias=True)
    before = [parameter.numpy() for parameter in layer.parameters()]
    layer.reset_parameters()
    for old, new in zip(before, layer.parameters(), strict=True):
        assert not np.allclose(old, new.numpy())
