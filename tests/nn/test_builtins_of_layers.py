"""Upstream's builtins behind layers and optimizers, against PyTorch's layers and optimizers."""

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import _C

RNG = np.random.default_rng(5)


def array(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def close(ours, theirs):
    theirs = np.asarray(theirs.detach() if isinstance(theirs, torch.Tensor) else theirs)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-5)


LAYERS = {
    "rnn_tanh": (torch.nn.RNN, {}),
    "rnn_relu": (torch.nn.RNN, {"nonlinearity": "relu"}),
    "gru": (torch.nn.GRU, {}),
    "lstm": (torch.nn.LSTM, {}),
    "lstm of projections": (torch.nn.LSTM, {"proj_size": 2}),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers(name, bias, bidirectional):
    layer_type, options = LAYERS[name]
    layer = layer_type(
        3, 4, num_layers=2, bias=bias, bidirectional=bidirectional, batch_first=True, **options
    )
    rows = 4 if bidirectional else 2
    sizes = [options.get("proj_size", 4), 4][: 2 if "lstm" in name else 1]
    x, states = array(2, 5, 3), [array(rows, 2, size) for size in sizes]
    given = [torch.tensor(state) for state in states]
    expected, last = layer(torch.tensor(x), tuple(given) if len(given) > 1 else given[0])
    weights = [flow.tensor(weight.detach().numpy()) for weight in layer.parameters()]
    hx = [flow.tensor(state) for state in states]
    function = getattr(_C, name.split()[0])
    settings = (weights, bias, 2, 0.0, False, bidirectional, True)
    outputs, *ours = function(flow.tensor(x), hx if len(hx) > 1 else hx[0], *settings)
    close(outputs, expected)
    for state, theirs in zip(ours, last if len(hx) > 1 else [last], strict=True):
        close(state, theirs)
    with pytest.raises(RuntimeError, match=r"`params` must have \d tensors"):
        function(flow.tensor(x), hx if len(hx) > 1 else hx[0], weights[1:], *settings[1:])


@pytest.mark.parametrize("axis", [1, 2])
def test_normalisation_of_two_batches_is_that_of_one(axis):
    channels = 3
    x = torch.tensor(array(6, 3, 3), requires_grad=True)
    grad, weight, bias = array(6, 3, 3), array(channels), array(channels)
    layer = torch.nn.BatchNorm1d(channels, eps=1e-3)
    layer.weight.data, layer.bias.data = torch.tensor(weight), torch.tensor(bias)
    expected = layer(x.transpose(1, axis)).transpose(1, axis)
    expected.backward(torch.tensor(grad))
    parts = [flow.tensor(x.detach().numpy()[rows]) for rows in (slice(0, 2), slice(2, 6))]
    grads = [flow.tensor(grad[:2]), flow.tensor(grad[2:])]
    means, invstds = zip(*[_C.batch_norm_stats(part, axis, 1e-3) for part in parts], strict=True)
    counts = flow.tensor([part.numel() / channels for part in parts])
    running = flow.zeros(channels), flow.ones(channels)
    options = (flow.stack(means), flow.stack(invstds), *running, 0.1, 1e-3, counts)
    mean, invstd = _C.batch_norm_gather_stats_with_counts(parts[0], *options)
    close(running[0], layer.running_mean)
    close(running[1], layer.running_var)
    factor, summand = flow.tensor(weight), flow.tensor(bias)
    outputs = [_C.batch_norm_elemt(p, factor, summand, mean, invstd, axis, 1e-3) for p in parts]
    close(flow.cat(outputs), expected)
    sums = [
        _C.batch_norm_backward_reduce(g, p, mean, invstd, axis)
        for g, p in zip(grads, parts, strict=True)
    ]
    dy, product, weight_grad, bias_grad = map(sum, zip(*sums, strict=True))
    close(weight_grad, layer.weight.grad)
    close(bias_grad, layer.bias.grad)
    whole = (factor, dy, product, counts.long(), axis)
    inputs = [
        _C.batch_norm_backward_elemt(g, p, mean, invstd, *whole)
        for g, p in zip(grads, parts, strict=True)
    ]
    close(flow.cat(inputs), x.grad)


def sgd(lists, step):
    _C.multi_tensor_sgd_update(*lists[:2], 0.5, 0.1, 0.2)


def momentum(nesterov, maximize):
    def update(lists, step):
        decay = 0.0
        _C.multi_tensor_momentum_update(*lists[:3], 0.5, decay, 0.2, 0.9, 0.0, nesterov, maximize)

    return update


def adam(decay):
    def update(lists, step):
        corrections = (1 - 0.9**step, 1 - 0.99**step)
        l2, weight_decay = (0.0, 0.1) if decay else (0.1, 0.0)
        options = (0.2, l2, 0.9, 0.99, *corrections, True, 0.5, weight_decay, 1e-4)
        _C.multi_tensor_adam_update(*lists, *options)

    return update


OPTIMIZERS = {
    "sgd": (sgd, torch.optim.SGD, {"weight_decay": 0.1}),
    "momentum": (momentum(False, False), torch.optim.SGD, {"momentum": 0.9}),
    "up": (momentum(False, True), torch.optim.SGD, {"momentum": 0.9, "maximize": True}),
    "nesterov": (momentum(True, False), torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "adam": (
        adam(False),
        torch.optim.Adam,
        {"betas": (0.9, 0.99), "eps": 1e-4, "weight_decay": 0.1},
    ),
    "adamw": (
        adam(True),
        torch.optim.AdamW,
        {"betas": (0.9, 0.99), "eps": 1e-4, "weight_decay": 0.1},
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_on_lists_are_those_of_optimizers(name):
    update, optimizer_type, options = OPTIMIZERS[name]
    values = [array(2), array(3, 2)]
    theirs = [torch.tensor(value, requires_grad=True) for value in values]
    optimizer = optimizer_type(theirs, lr=0.2, **options)
    model = [flow.tensor(value) for value in values]
    states = [[flow.zeros_like(tensor) for tensor in model] for _ in range(2)]
    for step in (1, 2, 3):
        grads = [array(*value.shape) for value in values]
        for tensor, grad in zip(theirs, grads, strict=True):
            tensor.grad = torch.tensor(grad * 0.5)
        optimizer.step()
        update([model, [flow.tensor(grad) for grad in grads], *states], step)
    for ours, tensor in zip(model, theirs, strict=True):
        close(ours, tensor)


def test_gradients_are_clipped_together():
    values = [array(2), array(3, 2)]
    theirs = [torch.zeros(value.shape, requires_grad=True) for value in values]
    for order, limit in ((2.0, 0.5), (float("inf"), 0.1), (1.0, 100.0)):
        for tensor, value in zip(theirs, values, strict=True):
            tensor.grad = torch.tensor(value)
        grads = [flow.tensor(value) for value in values]
        norm = _C.fused_clip_grad(grads, limit, order)
        close(norm, torch.nn.utils.clip_grad_norm_(theirs, limit, order))
        for ours, tensor in zip(grads, theirs, strict=True):
            close(ours, tensor.grad)


def test_small_ones():
    assert _C.T(flow.ones(2, 3)).shape == (3, 2)
    x = flow.tensor([1.0, 3.0])
    assert _C.greater_(x, 2.0).tolist() == [0, 1]
    close(
        _C.unsorted_segment_sum_like(flow.ones(3), flow.tensor([0, 0, 2]), x.new_ones(4), 0),
        [2, 0, 1, 0],
    )
    size = flow.env.get_world_size()
    for inplace in (False, True):
        x = flow.ones(2)
        assert (_C.local_all_reduce(x, inplace) is x) == inplace
        assert (_C.local_reduce(x, inplace=inplace) is x) == inplace
        assert (_C.comm_broadcast(x, inplace=inplace) is x) == inplace
    assert _C.comm_broadcast([x, x])[1] is x
    assert _C.local_all_gather(flow.zeros(2 * size), flow.ones(2)).tolist() == [1] * 2 * size
    assert _C.local_reduce_scatter(flow.zeros(2), flow.ones(2 * size)).tolist() == [size] * 2


def test_gradients_of_half_precision_are_scaled_in_single_precision():
    x, scale = flow.ones(1), 2.0**-16
    grad = flow.full((1,), 1e-3).half()
    _C.multi_tensor_sgd_update([x], [grad], scale, 0.0, 1 / scale)
    close(x, [0.999])
    x, speed = flow.ones(1), flow.zeros(1)
    options = (scale, 0.0, 1 / scale, 0.9, 0.0, False, False)
    _C.multi_tensor_momentum_update([x], [grad], [speed], *options)
    close(x, [0.999])
    x, m, v = flow.ones(1), flow.zeros(1), flow.zeros(1)
    options = (0.1, 0.0, 0.9, 0.999, 0.1, 0.001, True, scale, 0.0, 0.0)
    _C.multi_tensor_adam_update([x], [grad], [m], [v], *options)
    close(x, [0.9])


@pytest.mark.parametrize("size", [300.0, 4e4])
def test_norms_of_gradients_of_half_precision(size):
    grad = flow.full((4,), size).half()
    norm = _C.fused_clip_grad([grad], 1.0, 2.0)
    np.testing.assert_allclose(norm.numpy(), 2 * size, rtol=1e-3)
    np.testing.assert_allclose(grad.numpy(), [0.5] * 4, rtol=0.02)


def test_statistics_of_half_precision_are_single_precision():
    x = flow.tensor([[-400.0], [400.0]]).half()
    mean, invstd = _C.batch_norm_stats(x, 1, 1e-5)
    assert mean.dtype is flow.float32
    close(mean, [0.0])
    np.testing.assert_allclose(invstd.numpy(), [1 / 400], rtol=1e-5)
    one = flow.ones(1)
    y = _C.batch_norm_elemt(x, one, one, mean, invstd, 1, 1e-5)
    assert y.dtype is flow.float16
    close(y, [[0.0], [2.0]])
    dy = flow.full((2, 1), 4e4).half()
    sums = _C.batch_norm_backward_reduce(dy, x, mean, invstd, 1)
    close(sums[0], [8e4])
    parts = (mean, invstd, one, *sums[:2], flow.tensor([2]), 1)
    assert _C.batch_norm_backward_elemt(dy, x, *parts).dtype is flow.float16


@pytest.mark.parametrize("formula", ["google", "cambricon"])
@pytest.mark.parametrize("scheme", ["symmetric", "affine"])
def test_quantization_is_that_of_the_layers(formula, scheme):
    x, options = flow.linspace(-1.5, 2.5, 12).reshape(3, 4), (formula, 6, scheme)
    scale, zero = flow._C.min_max_observer(x, *options, False)
    expected = flow.nn.MinMaxObserver(*options, per_layer_quantization=False)(x)
    assert [scale.tolist(), zero.tolist()] == [part.tolist() for part in expected]
    for name, layer in (
        ("quantization", flow.nn.Quantization),
        ("fake_quantization", flow.nn.FakeQuantization),
    ):
        result = getattr(flow._C, name)(x, scale, zero, *options)
        assert result.tolist() == layer(*options)(x, scale, zero).tolist()
    observer = flow.nn.MovingAverageMinMaxObserver(2, *options, momentum=0.5)
    high, low = flow.zeros(1), flow.zeros(1)
    for step, training in enumerate((True, True, False, True)):
        now = flow.tensor([step])
        result = flow._C.moving_average_min_max_observer(
            x * (step + 1), now, high, low, training, 2, *options, 0.5
        )
        expected = observer.train(training)(x * (step + 1), now)
        assert [part.tolist() for part in result] == [part.tolist() for part in expected]
    assert [high.item(), low.item()] == [observer.moving_max.item(), observer.moving_min.item()]
