"""Losses and running sums of what overflowed, and their gradients, are NaN where PyTorch's are."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as tF

import oneflow as flow
import oneflow.nn.functional as F

INF = math.inf
LOGITS = np.array(
    [
        [1, INF, 2, 0, 1],
        [1, INF, INF, 0, 1],
        [1, -INF, 2, 0, 1],
        [-INF] * 5,
        [1, math.nan, 2, 0, 1],
        [INF, -INF, 1, 2, 3],
        [INF] * 5,
    ],
    np.float32,
)
LABELS = np.array([0, 1, 3, 4, 2, 0, 1])
WEIGHTS = np.arange(1, 6, dtype=np.float32)
SHARES = np.full((7, 5), 0.2, np.float32)
OPTIONS = [{}, {"label_smoothing": 0.1}, {"ignore_index": 3}, {"weight": WEIGHTS}]
LOSSES = {
    **{f"labels {i}": ("cross_entropy", LABELS, options) for i, options in enumerate(OPTIONS)},
    "shares": ("cross_entropy", SHARES, {}),
    "softmax": ("softmax", None, {"dim": 1}),
    "log_softmax": ("log_softmax", None, {"dim": 1}),
    "logcumsumexp 0": ("logcumsumexp", None, {"dim": 0}),
    "logcumsumexp 1": ("logcumsumexp", None, {"dim": 1}),
}


def loss_and_gradient(library, functions, name, target, options):
    x = library.tensor(LOGITS, requires_grad=True)
    tensors = {k: library.tensor(v) if k == "weight" else v for k, v in options.items()}
    operands = [] if target is None else [library.tensor(target)]
    loss = getattr(functions, name, getattr(library, name, None))(x, *operands, **tensors)
    loss.sum().backward()
    return loss.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("case", LOSSES)
def test_infinite_logits(case, reduction):
    name, target, options = LOSSES[case]
    if target is not None:
        options = {**options, "reduction": reduction}
    elif reduction != "none":
        pytest.skip("is no reduction")
    expected = loss_and_gradient(torch, tF, name, target, options)
    for ours, theirs in zip(
        loss_and_gradient(flow, F, name, target, options), expected, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
