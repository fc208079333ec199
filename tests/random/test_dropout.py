"""Dropout: functions, gradients, modules."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.nn import functional as F
from oneflow.primitives.trace_cache import TRACES


@pytest.fixture(autouse=True)
def _seed():
    flow.manual_seed(7)


def test_share_and_scale():
    y = F.dropout(flow.ones(20_000), 0.3).numpy()
    assert abs((y == 0).mean() - 0.3) < 0.02
    np.testing.assert_allclose(y[y != 0], 1 / 0.7, rtol=1e-6)


def test_gradient_has_the_mask_of_the_forward_pass():
    x = flow.randn(100, requires_grad=True)
    y = F.dropout(x, 0.4)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy() / x.detach().numpy(), rtol=1e-5)


def test_gradient_is_traced_with_the_forward_pass(monkeypatch):
    monkeypatch.setattr(TRACES, "by_kind", {})
    x = flow.ones(2, 3, 4, 3, 2, requires_grad=True)
    F.dropout(x, 0.4).sum().backward()
    assert x.grad.numpy().shape == x.shape
    assert [kind[0] for kind in TRACES.by_kind].count("dropout") == 1


def test_second_derivative_has_the_same_mask():
    x = flow.randn(50, requires_grad=True)
    y = F.dropout(x, 0.4)
    (slope,) = flow.autograd.grad((y * y).sum(), x, create_graph=True)
    (curve,) = flow.autograd.grad(slope.sum(), x)
    scale = y.detach().numpy() / x.detach().numpy()
    np.testing.assert_allclose(curve.numpy(), 2 * scale**2, rtol=1e-5)


def test_nothing_is_saved_but_numbers():
    x = flow.randn(50, requires_grad=True)
    node = F.dropout(x * 1, 0.4).grad_fn
    assert all(isinstance(kept, int | float) for kept in node._saved)


def test_extreme_probabilities():
    x = flow.randn(10, requires_grad=True)
    assert (F.dropout(x, 1.0) == 0).all().item()
    assert F.dropout(x, 0.0) is x
    assert F.dropout(x, 0.5, training=False) is x
    F.dropout(x, 1.0).sum().backward()
    assert x.grad.tolist() == [0.0] * 10


def test_in_place_and_addend():
    x = flow.ones(1000)
    y = F.dropout(x, 0.5, inplace=True)
    assert y is x
    assert set(x.tolist()) == {0.0, 2.0}
    z = F.dropout(flow.ones(1000), 0.5, addend=flow.ones(1000))
    assert set(z.tolist()) == {1.0, 3.0}


def test_generator_argument():
    one = F.dropout(flow.ones(100), generator=flow.Generator().manual_seed(1))
    two = F.dropout(flow.ones(100), generator=flow.Generator().manual_seed(1))
    np.testing.assert_array_equal(one.numpy(), two.numpy())


@pytest.mark.parametrize(
    ("function", "shape", "kept"),
    [
        (F.dropout1d, (8, 16, 5), 2),
        (F.dropout1d, (64, 5), 1),
        (F.dropout2d, (8, 16, 3, 2), 2),
        (F.dropout2d, (8, 16, 3), 2),
        (F.dropout3d, (8, 16, 2, 1, 3), 2),
        (F.dropout3d, (64, 2, 1, 3), 1),
        (F.feature_alpha_dropout, (8, 16, 3), 2),
    ],
)
def test_whole_channels(function, shape, kept):
    y = function(flow.ones(*shape), 0.5, training=True).numpy()
    flat = y.reshape(int(np.prod(shape[:kept])), -1)
    assert (flat == flat[:, :1]).all()
    assert len(np.unique(flat[:, 0])) == 2


def test_alpha_dropout_keeps_mean_and_variance():
    x = flow.randn(20_000, requires_grad=True)
    y = F.alpha_dropout(x, 0.3, training=True)
    values = y.detach().numpy()
    assert abs(values.mean()) < 0.05
    assert abs(values.var() - 1) < 0.06
    y.sum().backward()
    grad = x.grad.numpy()
    levels, repeats = np.unique(values, return_counts=True)
    low = values == levels[repeats.argmax()]
    assert abs(low.mean() - 0.3) < 0.02
    assert (grad[low] == 0).all()
    shift = (values - grad * x.detach().numpy())[~low]
    np.testing.assert_allclose(shift, shift[0], atol=1e-5)


def test_wrong_dimensions():
    with pytest.raises(RuntimeError, match="dropout1d: Expected 2D or 3D input"):
        F.dropout1d(flow.ones(2))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        F.dropout2d(flow.ones(2))


MODULES = {
    "Dropout": (4, 100),
    "Dropout1d": (4, 50, 2),
    "Dropout2d": (4, 50, 2, 2),
    "Dropout3d": (4, 50, 2, 1, 2),
    "AlphaDropout": (4, 100),
    "FeatureAlphaDropout": (4, 50, 2),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module = getattr(flow.nn, name)(0.5)
    x = flow.ones(*MODULES[name])
    assert len(np.unique(module(x).numpy())) == 2
    module.eval()
    assert (module(x) == x).all().item()
    assert "p=0.5" in repr(module)
    with pytest.raises(ValueError, match="between 0 and 1"):
        getattr(flow.nn, name)(-0.1)


def test_module_with_a_generator_and_in_place():
    def run():
        layer = flow.nn.Dropout(0.5, inplace=True, generator=flow.Generator().manual_seed(3))
        x = flow.ones(100)
        assert layer(x) is x
        return x.numpy()

    np.testing.assert_array_equal(run(), run())
