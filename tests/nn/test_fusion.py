"""Batch normalization folded into the layer before it, against PyTorch."""

import numpy as np
import pytest
import torch

import oneflow as flow

_random = np.random.default_rng(0)
# A layer, its normalization, the shape of an input, and the function that folds them.
CASES = {
    "conv": (("Conv2d", 3, 4, 3), ("BatchNorm2d", 4), (2, 3, 5, 5), "fuse_conv_bn_eval", {}),
    "transposed": (
        ("ConvTranspose2d", 3, 4, 3),
        ("BatchNorm2d", 4),
        (2, 3, 5, 5),
        "fuse_conv_bn_eval",
        {"transpose": True},
    ),
    "linear": (("Linear", 3, 4), ("BatchNorm1d", 4), (2, 3), "fuse_linear_bn_eval", {}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_folded_layers_are_pytorchs(name, bias, affine):
    (kind, *sizes), (norm, count), shape, function, options = CASES[name]
    theirs = getattr(torch.nn, kind)(*sizes, bias=bias).eval()
    normalization = getattr(torch.nn, norm)(count, affine=affine).eval()
    normalization.running_mean.uniform_(-1, 1)
    normalization.running_var.uniform_(0.5, 2)
    mine = getattr(flow.nn, kind)(*sizes, bias=bias).eval()
    own = getattr(flow.nn, norm)(count, affine=affine).eval()
    for target, source in ((mine, theirs), (own, normalization)):
        state = {key: flow.tensor(value.numpy()) for key, value in source.state_dict().items()}
        target.load_state_dict(state)
    fused = getattr(flow.nn.utils, function)(mine, own, **options)
    if affine or name != "linear":  # PyTorch does not fold linear layers without weights.
        reference = getattr(torch.nn.utils, function)(theirs, normalization, **options)
        for key, value in reference.state_dict().items():
            np.testing.assert_allclose(fused.state_dict()[key].numpy(), value.numpy(), rtol=1e-5)
    x = flow.tensor(_random.standard_normal(shape).astype(np.float32))
    np.testing.assert_allclose(fused(x).numpy(), own(mine(x)).numpy(), rtol=1e-4, atol=1e-5)
    assert mine.weight is not fused.weight


def test_layers_that_cannot_be_folded():
    linear, norm = flow.nn.Linear(2, 2), flow.nn.BatchNorm1d(2)
    with pytest.raises(AssertionError, match="eval"):
        flow.nn.utils.fuse_linear_bn_eval(linear, norm)
    plain = flow.nn.BatchNorm1d(2, track_running_stats=False)
    with pytest.raises(ValueError, match="running statistics"):
        flow.nn.utils.fuse_linear_bn_eval(linear.eval(), plain.eval())
