"""Mixed precision in eager mode, next to PyTorch's."""

import threading

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F
from oneflow.utils.checkpoint import checkpoint

OPERATORS = {
    "matmul": lambda lib, x: x @ x,
    "linear": lambda lib, x: lib.nn.functional.linear(x, x),
    "conv": lambda lib, x: lib.nn.functional.conv1d(x[None], x[:, :, None]),
    "conv with bias": lambda lib, x: lib.nn.functional.conv1d(x[None], x[:, :, None], x[0]),
    "exp": lambda lib, x: lib.exp(x),
    "softmax": lambda lib, x: lib.softmax(x, 1),
    "sum": lambda lib, x: (x @ x).sum(),
    "add": lambda lib, x: (x @ x) + x,
    "relu": lambda lib, x: lib.relu(x @ x),
    "cat": lambda lib, x: lib.cat([x @ x, x]),
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x @ x, x),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_dtypes_are_pytorchs(name):
    x = np.random.default_rng(0).uniform(0, 1, (3, 3)).astype(np.float32)
    with flow.autocast("cpu"):
        mine = OPERATORS[name](flow, flow.tensor(x))
    with torch.autocast("cpu"):
        theirs = OPERATORS[name](torch, torch.tensor(x))
    # PyTorch keeps sums and exponentials of bfloat16 as they are on the CPU; here, as on CUDA
    # devices, they are float32.
    if name not in ("sum", "mse_loss", "exp"):
        assert str(mine.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(mine.float().numpy(), theirs.float().numpy(), rtol=0.05)


_ATTENTION = "scaled_dot_product_attention"
# One operand is in half precision, as what a product returned; the other is not.
MIXED_OPERANDS = {
    "matmul": lambda lib, half, x: half @ x,
    "bmm": lambda lib, half, x: lib.bmm(x[None], half[None]),
    "addmm": lambda lib, half, x: lib.addmm(x, half, x),
    "einsum": lambda lib, half, x: lib.einsum("ij,jk->ik", x, half),
    "attention": lambda lib, half, x: getattr(lib.nn.functional, _ATTENTION)(
        half[None], x[None], x[None]
    ),
}


@pytest.mark.parametrize("name", MIXED_OPERANDS)
def test_operands_of_two_precisions_are_cast_alike(name):
    x = np.random.default_rng(0).uniform(0, 1, (3, 3)).astype(np.float32)
    with flow.autocast("cpu"):
        mine = MIXED_OPERANDS[name](flow, flow.tensor(x).bfloat16(), flow.tensor(x))
    with torch.autocast("cpu"):
        theirs = MIXED_OPERANDS[name](torch, torch.tensor(x).bfloat16(), torch.tensor(x))
    assert str(mine.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(mine.float().numpy(), theirs.float().numpy(), rtol=0.05, atol=0.02)
    with pytest.raises(RuntimeError, match="dtype"):
        MIXED_OPERANDS[name](flow, flow.tensor(x).bfloat16(), flow.tensor(x))


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_take_and_return_half_precision(layer):
    layer, x = layer(3, 3), flow.randn(4, 2, 3)
    with flow.autocast("cpu"):
        of_full, of_half = layer(x)[0], layer(x.bfloat16())[0]
    assert of_full.dtype is of_half.dtype is flow.bfloat16
    np.testing.assert_allclose(of_half.float().numpy(), layer(x)[0].detach().numpy(), atol=0.05)
    of_half.float().sum().backward()
    assert all(parameter.grad.dtype is flow.float32 for parameter in layer.parameters())


def test_nesting_devices_threads_and_decorators():
    x = flow.ones(2, 2)
    dtypes = []
    with flow.autocast("cpu", dtype=flow.float16):
        assert (x @ x).dtype is flow.float16
        with flow.autocast("cpu", enabled=False):
            assert (x @ x).dtype is flow.float32
        thread = threading.Thread(target=lambda: dtypes.append((x @ x).dtype))
        thread.start()
        thread.join()
        assert (x.double() @ x.double()).dtype is flow.float64
    assert dtypes == [flow.float32]
    assert (x @ x).dtype is flow.float32
    with flow.cuda.amp.autocast():
        assert flow.is_autocast_enabled()
        assert (x @ x).dtype is flow.float32
    assert flow.autocast("cpu")(lambda: x @ x)().dtype is flow.bfloat16
    flow.set_autocast_enabled(True)
    assert flow.is_autocast_enabled()
    flow.set_autocast_enabled(False)
    assert not flow.is_autocast_enabled()
    with pytest.raises(RuntimeError, match="device_type"):
        flow.autocast("abacus")
    with pytest.raises(RuntimeError, match="dtype"):
        flow.autocast("cpu", dtype=flow.float64)


def test_other_devices_are_not_concerned():
    x = flow.ones(2, 2, dtype=flow.bfloat16)
    with flow.autocast("cuda"):
        assert flow.nn.functional.mse_loss(x, x).dtype is flow.bfloat16
        with pytest.raises(RuntimeError, match="same dtype"):
            flow.matmul(x, x.float())


def test_printing_a_graph_changes_no_dtype():
    class Loss(flow.nn.Graph):
        def build(self, x):
            return flow.nn.functional.l1_loss(x, x, reduction="none")

    graph = Loss()
    graph.debug(2)
    assert graph(flow.ones(2, 2, dtype=flow.bfloat16)).dtype is flow.bfloat16


def test_the_default_precisions_can_be_set():
    before = flow.get_autocast_cpu_dtype()
    flow.set_autocast_cpu_dtype(flow.float16)
    with flow.autocast("cpu"):
        assert (flow.ones(1, 1) @ flow.ones(1, 1)).dtype is flow.float16
    flow.set_autocast_cpu_dtype(before)
    assert flow.get_autocast_gpu_dtype() is flow.float16


def test_gradients_are_float32_and_close():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    x, labels = flow.randn(4, 1, 4, 4), flow.tensor([0, 1, 2, 0])

    def gradients(enabled):
        model.zero_grad(set_to_none=True)
        with flow.autocast("cpu", enabled=enabled):
            loss = F.cross_entropy(model(x), labels)
        loss.backward()
        assert loss.dtype is flow.float32
        return [p.grad for p in model.parameters()]

    for half, full in zip(gradients(True), gradients(False), strict=True):
        assert half.dtype is flow.float32
        np.testing.assert_allclose(half.numpy(), full.numpy(), rtol=0.1, atol=0.02)


def test_checkpoints_run_again_in_the_same_precision():
    layer = nn.Linear(3, 3)
    x = flow.randn(2, 3, requires_grad=True)
    with flow.autocast("cpu"):
        loss = checkpoint(lambda x: F.gelu(layer(x)), x).sum()
    loss.backward()
    kept = x.grad.numpy()
    x.grad = None
    with flow.autocast("cpu"):
        loss = F.gelu(layer(x)).sum()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), kept)


# --- gradient scalers


def steps(scaler, optimizer, weight, factors):
    """Steps on ``weight * factor``; the weights after each."""
    weights = []
    for factor in factors:
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        weights.append(weight.tolist()[0])
    return weights


def test_a_scaler_is_pytorchs():
    factors = [1.0, 1.0, float("inf"), 2.0, 1.0, 1.0, float("nan"), 1.0]
    results = []
    for lib, make in ((flow, flow.amp.GradScaler), (torch, torch.amp.GradScaler)):
        weight = lib.tensor([1.0], requires_grad=True)
        optimizer = lib.optim.SGD([weight], lr=0.1, momentum=0.9)
        options = {"init_scale": 8.0, "growth_interval": 2}
        scaler = make(**options) if lib is flow else make("cpu", **options)
        weights = steps(scaler, optimizer, weight, factors)
        results.append((weights, scaler.get_scale(), scaler.state_dict()))
    (mine, my_scale, my_state), (theirs, their_scale, their_state) = results
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert my_scale == their_scale
    assert my_state == their_state


def test_a_scaler_unscales_once_and_saves_its_state():
    weight = flow.tensor([1.0], requires_grad=True)
    optimizer, scaler = flow.optim.SGD([weight], lr=1.0), flow.amp.GradScaler(init_scale=4.0)
    assert scaler.is_enabled()
    losses = scaler.scale([weight.sum(), (weight * 2).sum()])
    losses[0].backward()
    scaler.unscale_(optimizer)
    assert weight.grad.item() == 1.0
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert weight.item() == 0.0
    scaler.update(new_scale=16.0)
    other = flow.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 16.0
    getters = (other.get_growth_factor, other.get_backoff_factor, other.get_growth_interval)
    assert [get() for get in getters] == [2.0, 0.5, 2000]
    other.set_growth_factor(3.0)
    other.set_backoff_factor(0.25)
    other.set_growth_interval(5)
    assert [get() for get in getters] == [3.0, 0.25, 5]


def test_a_static_scaler_keeps_its_scale():
    weight = flow.tensor([1.0], requires_grad=True)
    optimizer, scaler = flow.optim.SGD([weight], lr=0.5), flow.amp.StaticGradScaler(1024.0)
    assert steps(scaler, optimizer, weight, [1.0, 1.0]) == [0.5, 0.0]
    assert scaler.get_scale() == 1024.0
    with pytest.raises(ValueError, match="positive"):
        flow.amp.StaticGradScaler(0.0)
    with pytest.raises(ValueError, match="growth_factor"):
        flow.amp.GradScaler(growth_factor=1.0)
    with pytest.raises(ValueError, match="backoff_factor"):
        flow.amp.GradScaler(backoff_factor=1.0)


def test_state_by_device_type():
    assert not flow.is_autocast_enabled("cpu")
    with flow.autocast("cpu", dtype=flow.float16):
        assert flow.is_autocast_enabled("cpu")
        assert not flow.is_autocast_enabled("cuda")
        assert flow.get_autocast_dtype("cpu") is flow.float16
    assert flow.get_autocast_dtype("cpu") is flow.bfloat16
    flow.set_autocast_dtype("cpu", flow.float16)
    try:
        assert flow.get_autocast_cpu_dtype() is flow.float16
    finally:
        flow.set_autocast_dtype("cpu", flow.bfloat16)
    with pytest.raises(RuntimeError, match="device_type"):
        flow.is_autocast_enabled("abacus")


@pytest.mark.parametrize("to_full", [False, True])
@pytest.mark.parametrize("lib", [flow, torch])
def test_functions_with_a_precision_of_their_own(lib, to_full):
    seen = []

    class Square(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=lib.float32 if to_full else None)
        def forward(ctx, x, count):
            ctx.save_for_backward(x)
            seen.extend([x.dtype, (x @ x).dtype, count])
            return x @ x

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append((x.float() @ x.float()).dtype)
            return 2 * grad * x, None

    x = lib.ones(2, 2, dtype=lib.bfloat16, requires_grad=True)
    with lib.autocast("cpu", dtype=lib.bfloat16):
        y = Square.apply(x, 3)
    y.float().sum().backward()
    inside = lib.float32 if to_full else lib.bfloat16
    assert seen == [inside, inside, 3, inside]
    assert x.grad.dtype is lib.bfloat16
