"""Quantization layers against their formulas."""

import numpy as np
import pytest

import oneflow as flow

VALUES = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("per_layer", [True, False])
@pytest.mark.parametrize("scheme", ["symmetric", "affine"])
def test_fake_quantization(scheme, per_layer):
    x = flow.tensor(VALUES, requires_grad=True)
    observer = flow.nn.MinMaxObserver("google", 4, scheme, per_layer)
    scale, zero_point = observer(x)
    out = flow.nn.FakeQuantization("google", 4, scheme)(x, scale, zero_point)
    rows = VALUES.reshape(1 if per_layer else 3, -1)
    if scheme == "affine":
        step = (rows.max(1) - rows.min(1)) / 15
        zero, low, high = -rows.min(1) / step, 0, 15
    else:
        step, zero, low, high = np.abs(rows).max(1) / 7, np.zeros(len(rows)), -7, 7
    np.testing.assert_allclose(scale.numpy(), step, rtol=1e-5)
    np.testing.assert_allclose(zero_point.numpy(), zero, rtol=1e-5)
    step, zero = step[:, None], zero[:, None]
    number = np.clip(np.rint(rows / step + zero), low, high)
    wanted = ((number - zero) * step).reshape(VALUES.shape)
    np.testing.assert_allclose(out.detach().numpy(), wanted, atol=1e-5)
    whole = flow.nn.Quantization("google", 4, scheme)(x, scale, zero_point)
    np.testing.assert_array_equal(whole.numpy(), number.reshape(VALUES.shape))
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(VALUES))


def test_cambricon():
    scale, zero_point = flow.nn.MinMaxObserver("cambricon")(flow.tensor([-5.0, 2.0]))
    assert (scale.tolist(), zero_point.tolist()) == ([-4.0], [0.0])
    rounded = flow.nn.FakeQuantization("cambricon")(flow.tensor([0.1, 20.0]), scale, zero_point)
    assert rounded.tolist() == [0.125, 127 / 16]


@pytest.mark.parametrize("scheme", ["symmetric", "affine"])
def test_moving_averages(scheme):
    observer = flow.nn.MovingAverageMinMaxObserver(1, "google", 8, scheme, 0.9)
    high = low = 0.0
    for step in range(4):
        values = VALUES[min(step, 2)] * (step + 1)
        scale, _ = observer(flow.tensor(values), flow.tensor([step]))
        if step <= 1:
            top = values.max() if scheme == "affine" else np.abs(values).max()
            high = top if high == 0 else high * 0.9 + top * 0.1
            low = values.min() if low == 0 else low * 0.9 + values.min() * 0.1
        wanted = (high - low) / 255 if scheme == "affine" else high / 127
        np.testing.assert_allclose(scale.numpy(), [wanted], rtol=1e-5)
    observer.reset_running_stats()
    assert observer.moving_max.tolist() == observer.moving_min.tolist() == [0.0]
    observer.eval()
    observer(flow.tensor(VALUES), flow.tensor([0]))
    assert observer.moving_max.tolist() == [0.0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    ("formula", "scheme", "per_layer"),
    [
        ("google", "symmetric", True),
        ("google", "affine", False),
        ("cambricon", "symmetric", True),
    ],
)
def test_quantization_aware_convolutions(count, formula, scheme, per_layer):
    options = {"stride": 2, "padding": 1, "padding_mode": "replicate"}
    kind = getattr(flow.nn, f"QatConv{count}d")
    plain = getattr(flow.nn, f"Conv{count}d")
    layer = kind(
        2,
        4,
        3,
        **options,
        quantization_formula=formula,
        quantization_bit=4,
        quantization_scheme=scheme,
        weight_quant_per_layer=per_layer,
    )
    assert isinstance(layer, plain)
    x = flow.randn(2, 2, *(5,) * count)
    x.requires_grad_()
    result = layer(x)
    twin = plain(2, 4, 3, **options)
    quantize = flow.nn.FakeQuantization(formula, 4, scheme)
    observe = flow.nn.MovingAverageMinMaxObserver(1, formula, 4, scheme)
    ranges = flow.nn.MinMaxObserver(formula, 4, scheme, per_layer)(layer.weight)
    with flow.no_grad():
        twin.weight.copy_(quantize(layer.weight, *ranges))
        twin.bias.copy_(layer.bias)
    rounded = quantize(x.detach(), *observe(x.detach(), flow.zeros(1))).requires_grad_()
    expected = twin(rounded)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), atol=1e-5)
    result.sum().backward()
    expected.sum().backward()
    # Gradients pass the rounding unchanged.
    pairs = ((x, rounded), (layer.weight, twin.weight), (layer.bias, twin.bias))
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-4)
    names = set(layer.state_dict())
    assert {"current_train_step", "input_min_max_observer.moving_max", "weight"} <= names


def test_quantization_aware_training_reduces_the_loss():
    layer = flow.nn.QatConv2d(1, 1, 3, padding=1, quantization_bit=6)
    wanted = flow.nn.Conv2d(1, 1, 3, padding=1)
    optimizer = flow.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        x = flow.randn(8, 1, 6, 6)
        loss = ((layer(x) - wanted(x).detach()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.2 * np.mean(losses[:5])


def test_bad_options():
    for options in ({"quantization_formula": "x"}, {"quantization_scheme": "x"}):
        with pytest.raises(ValueError, match="must be"):
            flow.nn.MinMaxObserver(**options)
    with pytest.raises(ValueError, match="2 to 32"):
        flow.nn.Quantization(quantization_bit=33)


def test_biases_are_rounded_to_32_bits():
    scale, bias = flow.tensor([1e-6]), flow.tensor([-0.25, 3.0, 7.5e3])
    layer = flow.nn.Quantization("google", 32, "affine")
    assert layer(bias, scale, flow.tensor([0])).tolist() == [0.0, 3e6, 2.0**32]
    layer = flow.nn.Quantization("google", 32, "symmetric")
    assert layer(bias, scale, flow.tensor([0])).tolist() == [-250000.0, 3e6, 2.0**31]
