"""Every type of devices, on CPU devices that stand in for those that this machine does not have.

What a device does is XLA's affair; here all that asks for the type of a device is run with each.
"""

import dataclasses

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.base import cluster, device
from oneflow.base.placement import Placement
from oneflow.primitives.cost.chips import chip_of_type

B, S = flow.sbp.broadcast, flow.sbp.split


@pytest.fixture(params=device.DEVICE_TYPES)
def kind(request, monkeypatch):
    """The name of a type whose devices are CPUs."""
    if device.platform_devices(request.param) and request.param != "cpu":
        pytest.skip("this machine has such devices")
    found = (device.platform_devices, device.xla_device, cluster.device_of_rank)
    stand_in = dataclasses.replace(device.DEVICE_TYPES[request.param], platform="cpu")
    monkeypatch.setitem(device.DEVICE_TYPES, request.param, stand_in)
    for function in found:
        function.cache_clear()
    yield request.param
    for function in found:
        function.cache_clear()
    for placement in Placement._instances.values():
        placement.__dict__.pop("_device_mesh", None)


class Training(nn.Graph):
    def __init__(self, model, amp):
        super().__init__()
        self.model = model
        self.config.enable_amp(amp)
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))

    def build(self, x):
        loss = self.model(x).square().mean()
        loss.backward()
        return loss


def model():
    flow.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def eager_losses():
    net, x = model(), flow.ones(4, 4)
    optimizer = flow.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.one_in(3)
@pytest.mark.parametrize("amp", [False, True])
def test_a_graph_trains(kind, amp):
    expected = pytest.approx(eager_losses(), rel=1e-2 if amp else 1e-5)
    graph = Training(model().to(kind), amp)
    assert [graph(flow.ones(4, 4, device=kind)).item() for _ in range(3)] == expected
    place = flow.placement(kind, [0, 1])
    graph = Training(model().to_global(place, B), amp)
    x = flow.ones(4, 4, placement=place, sbp=S(0))
    assert [graph(x).item() for _ in range(3)] == expected


def test_tensors(kind):
    x = flow.ones(2, 2, device=kind)
    assert x.device is flow.device(kind)
    assert x.cpu().device is flow.device("cpu")
    assert x.is_cpu == (kind == "cpu")
    assert x.get_device() == (-1 if kind == "cpu" else 0)
    assert x.type() == f"oneflow.{'' if kind == 'cpu' else f'{kind}.'}FloatTensor"
    assert ("device=" in repr(x)) == (kind != "cpu")
    place = flow.placement(kind, [0, 1])
    y = x.to_global(place, S(0)).to_global(flow.placement(kind, [1]), B)
    assert y.tolist() == [[1, 1]] * 4
    assert y.to("cpu").placement.type == "cpu"


def test_half_precision(kind):
    half = flow.float16 if kind == "cuda" else flow.bfloat16
    x = flow.ones(2, 2, device=kind)
    with flow.autocast(kind):
        assert (x @ x).dtype is half
        with flow.autocast(kind, enabled=False):
            assert (x @ x).dtype is flow.float32


def test_one_table():
    assert all(chip_of_type(device_type).type == device_type for device_type in device.DEVICE_TYPES)
    assert flow.placement("gpu", [0]).type == "cuda"
    with pytest.raises(RuntimeError, match="'cpu', 'cuda', 'tpu'"):
        flow.autocast("abacus")


def offloaded(x):
    if x.device.type == "cpu":
        with pytest.warns(UserWarning, match="on the CPU"):
            x.offload()
        return False
    x.offload()
    return x.is_offloaded()


def test_numbers_wait_in_the_hosts_memory(kind):
    x = flow.tensor([[1.5, 2.0], [3.0, 4.0]], device=kind, requires_grad=True)
    square, before = (x * x).sum(), id(x)
    assert offloaded(x) == (kind != "cpu")
    if kind != "cpu":
        with pytest.warns(UserWarning, match="already"):
            x.offload()
        x.load()
    assert not x.is_offloaded()
    with pytest.warns(UserWarning, match="not offloaded"):
        x.load()
    offloaded(x)
    assert id(x) == before
    assert x.is_leaf
    assert x.tolist() == [[1.5, 2.0], [3.0, 4.0]]  # a read moves them back
    assert not x.is_offloaded()
    square.backward()
    assert x.grad.tolist() == [[3.0, 4.0], [6.0, 8.0]]


@pytest.mark.parametrize("sbp", [B, S(0), flow.sbp.partial_sum])
def test_global_numbers_wait_in_the_hosts_memory(kind, sbp):
    x = flow.arange(8.0).reshape(4, 2).to_global(flow.placement(kind, [0, 1]), B).to_global(sbp=sbp)
    offloaded(x)
    assert x.sbp == (sbp,)
    assert x.sum().item() == 28
    offloaded(x)
    assert x.to_global(sbp=S(1)).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_offloaded_parameters_train_as_others(kind):
    losses = eager_losses()
    net, x = model().to(kind), flow.ones(4, 4, device=kind)
    graph = Training(net, amp=False)
    for loss in losses:
        for parameter in net.parameters():
            offloaded(parameter)
        assert graph(x).item() == pytest.approx(loss, rel=1e-6)
