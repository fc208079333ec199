"""Windows, padding, gradients and layers of job functions against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
import oneflow.typing as tp

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 0.9, (3, 4)).astype(np.float32)
Y = RNG.uniform(0.1, 0.9, (3, 4)).astype(np.float32)
IMAGES = RNG.standard_normal((2, 4, 7, 9), np.float32)


def _same(size, window, stride, lower=False):
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("stride", [1, 2, (3, 2)])
@pytest.mark.parametrize("padding", ["VALID", "SAME", "SAME_LOWER", [(1, 2), (0, 1)]])
@pytest.mark.parametrize("operator", ["conv2d", "max_pool2d", "avg_pool2d"])
def test_windows(operator, padding, stride, data_format):
    strides = (stride, stride) if isinstance(stride, int) else stride
    if padding == "VALID":
        pairs = [(0, 0), (0, 0)]
    elif isinstance(padding, str):
        lower = padding == "SAME_LOWER"
        pairs = [_same(n, 3, s, lower) for n, s in zip((7, 9), strides, strict=True)]
    else:
        pairs = padding
    fill = float("-inf") if operator == "max_pool2d" else 0.0
    padded = torch.nn.functional.pad(torch.tensor(IMAGES), (*pairs[1], *pairs[0]), value=fill)
    weight = RNG.standard_normal((6, 4, 3, 3), np.float32)
    if operator == "conv2d":
        expected = torch.nn.functional.conv2d(padded, torch.tensor(weight), stride=strides)
    elif operator == "max_pool2d":
        expected = torch.nn.functional.max_pool2d(padded, 3, strides)
    else:
        inside = torch.nn.functional.pad(torch.ones(1, 1, 7, 9), (*pairs[1], *pairs[0]))
        pool = torch.nn.functional.avg_pool2d
        expected = pool(padded, 3, strides) / pool(inside, 3, strides)
    images = flow.tensor(IMAGES)
    order = (0, 2, 3, 1)
    if data_format == "NHWC":
        images, weight = images.permute(*order), weight.transpose(order)
        expected = expected.permute(order)
    if operator == "conv2d":
        result = flow.nn.conv2d(images, flow.tensor(weight), stride, padding, data_format)
    else:
        result = getattr(flow.nn, operator)(images, 3, stride, padding, data_format)
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", ["VALID", "SAME"])
@pytest.mark.parametrize("operator", ["conv", "max_pool", "avg_pool"])
@pytest.mark.parametrize("count", [1, 3])
def test_windows_of_one_and_three_dimensions(count, operator, padding, last):
    x = RNG.standard_normal((2, 4, *(7, 6, 5)[:count]), np.float32)
    weight = RNG.standard_normal((6, 4, *(3,) * count), np.float32)
    pairs = [_same(n, 3, 2) if padding == "SAME" else (0, 0) for n in x.shape[2:]]
    flat = [amount for pair in reversed(pairs) for amount in pair]
    fill = float("-inf") if operator == "max_pool" else 0.0
    padded = torch.nn.functional.pad(torch.tensor(x), flat, value=fill)
    theirs = getattr(torch.nn.functional, f"{operator}{count}d")
    ours = getattr(flow.nn, f"{operator}{count}d")
    if operator == "conv":
        expected = theirs(padded, torch.tensor(weight), stride=2)
    else:
        expected = theirs(padded, 3, 2)
    if operator == "avg_pool":
        inside = torch.nn.functional.pad(torch.ones(1, 1, *x.shape[2:]), flat)
        expected = expected / theirs(inside, 3, 2)
    expected = expected.numpy()
    if last:
        x, weight, expected = (np.moveaxis(array, 1, -1) for array in (x, weight, expected))
    data_format = {1: ("NCW", "NWC"), 3: ("NCDHW", "NDHWC")}[count][last]
    more = (flow.tensor(weight),) if operator == "conv" else (3,)
    result = ours(flow.tensor(x), *more, 2, padding, data_format)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("padding", ["VALID", "SAME", [(1, 2), (0, 1)]])
@pytest.mark.parametrize("stride", [1, 2])
def test_transposed_convolution_is_the_gradient_of_the_convolution(stride, padding, data_format):
    images, weight = RNG.standard_normal((2, 4, 7, 8)), RNG.standard_normal((6, 4, 3, 2))
    if data_format == "NHWC":
        images, weight = np.moveaxis(images, 1, -1), np.moveaxis(weight, 1, -1)
    x = flow.tensor(images, requires_grad=True)
    y = flow.nn.conv2d(x, flow.tensor(weight), stride, padding, data_format)
    gradient = flow.tensor(RNG.standard_normal(y.shape))
    y.backward(gradient)
    result = flow.nn.conv2d_transpose(
        gradient, flow.tensor(weight), x.shape, stride, padding, data_format
    )
    np.testing.assert_allclose(result.numpy(), x.grad.numpy(), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="a convolution of images of size"):
        flow.nn.conv2d_transpose(
            gradient, flow.tensor(weight), (20, 20), stride, padding, data_format
        )


def _gradient_of(function, x, gradient):
    x = torch.tensor(x, requires_grad=True)
    y = function(x)
    y.backward(torch.tensor(gradient))
    return y.detach().numpy(), x.grad.numpy()


def test_gradients_that_were_functions():
    functional = torch.nn.functional
    y, expected = _gradient_of(lambda x: functional.softmax(x, 1), X, Y)
    result = flow.nn.softmax_grad(flow.tensor(y), flow.tensor(Y), axis=1)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-6)
    y, expected = _gradient_of(torch.sigmoid, X, Y)
    result = flow.math.sigmoid_grad(flow.tensor(y), flow.tensor(Y))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
    _, expected = _gradient_of(functional.gelu, X, Y)
    result = flow.math.gelu_grad(flow.tensor(X), flow.tensor(Y))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
    pairs = [(1, 2), (0, 3)]
    padded = np.pad(X, pairs)
    np.testing.assert_array_equal(flow.pad_grad(flow.tensor(padded), pairs).numpy(), X)


@pytest.mark.parametrize(
    ("name", "module", "padding"),
    [
        ("zero_pad2d", torch.nn.ZeroPad2d, (1, 2, 3, 0)),
        ("reflection_pad2d", torch.nn.ReflectionPad2d, 2),
        ("replication_pad2d", torch.nn.ReplicationPad2d, (1, 0, 2, 3)),
    ],
)
def test_paddings_of_images(name, module, padding):
    result = getattr(flow, name)(flow.tensor(IMAGES), padding)
    np.testing.assert_array_equal(result.numpy(), module(padding)(torch.tensor(IMAGES)).numpy())
    with pytest.raises(ValueError, match="one integer or four"):
        getattr(flow, name)(flow.tensor(IMAGES), (1, 2))


def test_same_padding_is_that_of_convolutions():
    x, weight = flow.tensor(IMAGES), flow.ones(1, 4, 3, 2)
    padded = flow.same_padding(x, "SAME_LOWER", "NCHW", (3, 2), (2, 2), (1, 2))
    ours = flow.nn.conv2d(padded, weight, 2, "VALID", dilations=(1, 2))
    expected = flow.nn.conv2d(x, weight, 2, "SAME_LOWER", dilations=(1, 2))
    np.testing.assert_allclose(ours.numpy(), expected.numpy(), rtol=1e-5)
    last = flow.same_padding(x.permute(0, 2, 3, 1), "SAME_LOWER", "NHWC", (3, 2), (2, 2), (1, 2))
    np.testing.assert_array_equal(last.permute(0, 3, 1, 2).numpy(), padded.numpy())
    with pytest.raises(ValueError, match="data_format"):
        flow.same_padding(x, "SAME", "NCW", 1, 1, 1)


@pytest.mark.parametrize(
    ("data_format", "axis"),
    [(None, 1), ("NC", 1), ("NCW", 1), ("NCHW", 1), ("NHC", -1), ("NHWC", -1)],
)
def test_biases_of_channels(data_format, axis):
    x = flow.zeros(2, *(3,) * (2 if data_format is None else len(data_format) - 1))
    bias = flow.tensor([1.0, 2.0, 3.0])
    added = flow.nn.bias_add(x, bias, data_format).movedim(axis, -1)
    assert (added == bias).all()
    assert added.shape == x.shape
    for function in (flow.nn.bias_add, flow.nn.fused_bias_add_gelu):
        with pytest.raises(ValueError, match=r"the form NC.* got 'HWC'"):
            function(x, bias, "HWC")


def test_normalisation_and_moments():
    x = flow.tensor(IMAGES)
    gamma, beta = flow.rand(9), flow.rand(9)
    ours = flow.nn.layer_norm(x, gamma, beta, 2, -1, 1e-5, "name")
    plain = torch.nn.functional.layer_norm(torch.tensor(IMAGES), (7, 9)).numpy()
    expected = plain * gamma.numpy() + beta.numpy()
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="`gamma` must have the shape"):
        flow.nn.layer_norm(x, flow.ones(3))
    mean, variance = flow.nn.moments(x, [0, 2], keepdims=True)
    np.testing.assert_allclose(mean.numpy(), IMAGES.mean((0, 2), keepdims=True), atol=1e-6)
    np.testing.assert_allclose(variance.numpy(), IMAGES.var((0, 2), keepdims=True), rtol=1e-5)


def test_masks_and_shuffled_pixels():
    flow.manual_seed(0)
    mask = flow.nn.random_mask_like(flow.zeros(100, 100), rate=0.25).numpy()
    assert mask.dtype == bool
    assert abs(mask.mean() - 0.75) < 0.03
    with pytest.raises(ValueError, match="from 0 to 1"):
        flow.nn.random_mask_like(flow.zeros(1), rate=2)
    x = RNG.standard_normal((2, 8, 3, 5), np.float32)
    expected = torch.nn.functional.pixel_shuffle(torch.tensor(x), 2).numpy()
    np.testing.assert_array_equal(flow.nn.PixelShufflev2(flow.tensor(x), 2, 2).numpy(), expected)
    with pytest.raises(ValueError, match="8 channels"):
        flow.nn.PixelShufflev2(flow.tensor(x), 3, 2)


def test_layers_of_one_and_three_dimensions():
    flow.clear_default_session()

    @flow.global_function()
    def job(
        x: tp.Numpy.Placeholder((2, 4, 6)), y: tp.Numpy.Placeholder((1, 5, 4, 4, 2))
    ) -> tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        ones = flow.ones_initializer()
        a = flow.layers.conv1d(x, 3, 2, 2, "SAME", kernel_initializer=ones, name="one")
        b = flow.layers.conv3d(
            y, 3, 2, 2, "VALID", "NDHWC", use_bias=False, kernel_initializer=ones
        )
        return a, b, flow.layers.upsample_2d(y[:, 0], (2, 3), data_format="NHWC")

    x, y = RNG.random((2, 4, 6), np.float32), RNG.random((1, 5, 4, 4, 2), np.float32)
    a, b, c = job(x, y)
    np.testing.assert_allclose(
        a, np.repeat(x.reshape(2, 4, 3, 2).sum((1, 3))[:, None], 3, 1), rtol=1e-5
    )
    blocks = y[:, :4].reshape(1, 2, 2, 2, 2, 2, 2, 2).sum((2, 4, 6, 7))
    np.testing.assert_allclose(b, np.repeat(blocks[..., None], 3, -1), rtol=1e-5)
    np.testing.assert_array_equal(c, y[:, 0].repeat(2, 1).repeat(3, 2))
    shapes = {name: tuple(variable.shape) for name, variable in flow.get_all_variables().items()}
    assert shapes == {
        "job-Conv3D_1-weight": (3, 2, 2, 2, 2),
        "one-bias": (3,),
        "one-weight": (3, 4, 2),
    }
    flow.clear_default_session()


@pytest.mark.parametrize(("dims", "layout"), [(1, "NCW"), (2, "NCHW"), (2, "NHWC"), (3, "NCDHW")])
def test_the_bias_may_stand_before_the_format(dims, layout):
    convolution = getattr(flow.nn, f"conv{dims}d")
    last = layout.endswith("C")
    x = flow.randn(2, *[6] * dims, 4) if last else flow.randn(2, 4, *[6] * dims)
    weight = flow.randn(6, *[3] * dims, 2) if last else flow.randn(6, 2, *[3] * dims)
    for bias in (None, flow.randn(6)):
        options = {"data_format": layout, "dilations": 2, "groups": 2, "bias": bias}
        expected = convolution(x, weight, 1, "SAME", **options)
        for order in ((layout, 2, 2, bias), (bias, layout, 2, 2)):
            result = convolution(x, weight, 1, "SAME", *order)
            np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-6)
