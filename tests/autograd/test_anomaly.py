"""Anomaly mode."""

import pytest

import oneflow as flow


def notes(caught):
    return "".join(caught.value.__notes__)


def test_nan_names_the_forward_line():
    x = flow.tensor([-1.0], requires_grad=True)
    with flow.autograd.detect_anomaly():
        y = x.sqrt()  # the line to name
        with pytest.raises(RuntimeError) as caught:
            (y * 2).sum().backward()
    assert str(caught.value) == "Function 'sqrt_backward' returned nan values in its 0th output."
    assert "y = x.sqrt()  # the line to name" in notes(caught)
    assert "oneflow/functional" not in notes(caught)


def test_error_in_a_custom_function_names_the_forward_line():
    class Broken(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("broken")

    x = flow.ones(1, requires_grad=True)
    with (
        flow.autograd.set_detect_anomaly(True),
        pytest.raises(ValueError, match="broken") as caught,
    ):
        Broken.apply(x).backward()
    assert "Broken.apply(x).backward()" in notes(caught)


def test_nan_may_be_let_through():
    x = flow.tensor([-1.0], requires_grad=True)
    with flow.autograd.detect_anomaly(check_nan=False):
        x.sqrt().sum().backward()
    assert x.grad.isnan().item()


def test_mode_is_put_back():
    assert not flow.is_anomaly_enabled()
    with flow.autograd.set_detect_anomaly(True):
        assert flow.is_anomaly_enabled()
        assert flow.is_anomaly_check_nan_enabled()
        with flow.autograd.set_detect_anomaly(False, check_nan=False):
            assert not flow.is_anomaly_enabled()
            assert not flow.is_anomaly_check_nan_enabled()
        assert flow.is_anomaly_enabled()
        assert flow.is_anomaly_check_nan_enabled()
    assert not flow.is_anomaly_enabled()


def test_without_it_nan_passes_silently():
    x = flow.tensor([-1.0], requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.isnan().item()
