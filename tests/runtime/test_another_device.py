"""Programs on another device than the first: an accelerator, or the second device made of a CPU.

`make accelerator` runs these, and the law of all operators, on a machine with a GPU or a TPU.
"""

import copy
import itertools
import pickle

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from tests.devices import ACCELERATOR, OTHER_DEVICE
from tests.oracle import eager_mode

needs_accelerator = pytest.mark.skipif(ACCELERATOR is None, reason="needs a GPU or a TPU")
# Sums whose order differs.
LOOSE = {"rtol": 2e-4, "atol": 2e-5}


class Mixed(nn.Module):
    """A layer of every family whose code differs between devices."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.recurrent = nn.LSTM(8, 16, batch_first=True)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.layer_norm = nn.LayerNorm(16)
        self.embedding = nn.Embedding(10, 16)
        self.head = nn.Linear(16, 10)

    def forward(self, images, labels):
        x = self.pool(nn.functional.relu(self.norm(self.convolution(images))))
        x = nn.functional.gelu(self.depthwise(x)).flatten(2).transpose(1, 2)
        x, _ = self.recurrent(x)
        x = self.layer_norm(x + self.attention(x, x, x)[0])
        x = x.mean(1) + self.embedding(labels.flip(0))
        return nn.functional.cross_entropy(self.head(x), labels)


class Training(nn.Graph):
    def __init__(self, model, optimizer, amp=None):
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)
        if amp is not None:
            self.config.enable_amp(True, dtype=amp)

    def build(self, images, labels):
        loss = self.model(images, labels)
        loss.backward()
        return loss


def losses_on(device, way, optimizer="AdamW", amp=None):
    """The losses of six training steps, and the trained parameters."""
    flow.manual_seed(0)
    model = Mixed().to(device)
    images = flow.randn(4, 3, 8, 8).to(device)
    labels = flow.tensor([1, 0, 7, 7]).to(device)
    chosen = getattr(flow.optim, optimizer)(model.parameters(), lr=0.01)
    graph = Training(model, chosen, amp)

    def step():
        if way == "graph":
            return graph(images, labels)
        chosen.zero_grad()
        with flow.autocast(device.type, dtype=amp, enabled=amp is not None):
            loss = model(images, labels)
        loss.backward()
        chosen.step()
        return loss

    losses = [step().item() for _ in range(6)]
    return losses, [parameter.detach().cpu().numpy() for parameter in model.parameters()]


def expected_losses(optimizer="AdamW"):
    """The result of `losses_on` the first device, interpreted."""
    with eager_mode("cold"):
        return losses_on(flow.device("cpu"), "eager", optimizer)


WAYS = list(itertools.product(("eager", "graph"), ("SGD", "AdamW", "LAMB")))


@pytest.mark.parametrize(("way", "optimizer"), WAYS)
def test_training_goes_as_on_the_first_device(way, optimizer, sample):
    if ACCELERATOR is None:
        sample.take_turns(WAYS, (way, optimizer))
    expected, parameters = expected_losses(optimizer)
    losses, trained = losses_on(OTHER_DEVICE, way, optimizer)
    np.testing.assert_allclose(losses, expected, rtol=1e-3)
    if optimizer == "SGD":  # the others turn rounding into steps
        for mine, theirs in zip(trained, parameters, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-2, atol=1e-3)


MIXED = list(itertools.product(("eager", "graph"), ("bfloat16", "float16")))


@pytest.mark.parametrize(("way", "dtype"), MIXED)
def test_mixed_precision_trains(way, dtype, sample):
    if ACCELERATOR is None:
        sample.take_turns(MIXED, (way, dtype))
    expected, _ = expected_losses()
    losses, _ = losses_on(OTHER_DEVICE, way, amp=getattr(flow, dtype))
    np.testing.assert_allclose(losses, expected, rtol=0.1)


def test_a_scaler_skips_steps_that_overflow():
    weight = nn.Parameter(flow.ones(4, device=OTHER_DEVICE))
    optimizer = flow.optim.SGD([weight], lr=0.1)
    scaler = flow.amp.GradScaler(init_scale=2.0**15)
    for factor, moved in ((1e38, False), (1.0, True)):
        optimizer.zero_grad()
        before = weight.detach().clone()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (weight != before).all().item() is moved
    assert scaler.get_scale() == 2.0**14


DRAWS = {
    "rand": lambda device: flow.rand(1000, device=device),
    "randint": lambda device: flow.randint(0, 1000, (1000,), device=device),
    "randperm": lambda device: flow.randperm(1000, device=device),
    "bernoulli": lambda device: flow.bernoulli(flow.full((1000,), 0.3, device=device)),
    "dropout": lambda device: nn.functional.dropout(flow.ones(1000, device=device), 0.4),
    "randn": lambda device: flow.randn(1000, device=device),
    "exponential": lambda device: flow.empty(1000, device=device).exponential_(),
    "multinomial": lambda device: flow.multinomial(flow.ones(50, device=device), 20),
    "gamma": lambda device: flow.distributions.Gamma(
        flow.full((100,), 2.0, device=device), flow.ones(100, device=device)
    ).sample(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_gives_the_same_numbers(name):
    drawn = []
    for device in (flow.device("cpu"), OTHER_DEVICE):
        flow.manual_seed(7)
        drawn.append(DRAWS[name](device).cpu().numpy())
    np.testing.assert_allclose(*drawn, rtol=1e-5, atol=1e-6)


def test_tensors_stay_where_they_are():
    x = flow.arange(6, dtype=flow.float32, device=OTHER_DEVICE).reshape(2, 3)
    results = (
        x + 1,
        x[0],
        x.T,
        x @ x.T,
        x.sum(),
        x > 1,
        x[x > 1],
        flow.zeros_like(x),
        x.new_ones(2),
    )
    assert all(result.device == OTHER_DEVICE for result in results)
    assert copy.deepcopy(x).device == pickle.loads(pickle.dumps(x)).device == OTHER_DEVICE
    assert x.cpu().device == flow.device("cpu")
    assert (x + flow.tensor(1.0)).device == OTHER_DEVICE  # a number is at home everywhere


def test_tensors_of_two_devices_are_refused():
    x = flow.ones(2, device=OTHER_DEVICE)
    with pytest.raises(RuntimeError, match="device"):
        x + flow.ones(2)
    with pytest.raises(RuntimeError, match="device"):
        nn.Linear(2, 2)(x)


def test_writes_go_through_views():
    x = flow.zeros(3, 4, device=OTHER_DEVICE)
    x[0][1] = 8
    x[1:].add_(1)
    x.T[0] -= flow.tensor(2.0)
    x[flow.tensor([2, 2]), flow.tensor([1, 3])] = flow.tensor([5.0, 6.0], device=OTHER_DEVICE)
    assert x.tolist() == [[-2, 8, 0, 0], [-1, 1, 1, 1], [-1, 5, 1, 6]]


@pytest.mark.parametrize("mode", ["cold", "compiled"])
def test_an_index_out_of_range_changes_nothing(mode):
    table, places = flow.zeros(3, device=OTHER_DEVICE), flow.tensor([0, 5], device=OTHER_DEVICE)
    with eager_mode(mode):
        table[places] = 1.0
        with pytest.raises(IndexError, match="5"):
            table.tolist()
        taken = table[places]
        with pytest.raises(IndexError, match="5"):
            taken.tolist()
        assert table.tolist() == [0, 0, 0]
        table[places[:1]] = 1.0
        assert table.tolist() == [1, 0, 0]


def test_a_checkpoint_moves_between_devices(tmp_path):
    flow.manual_seed(0)
    model = nn.Linear(3, 2).to(OTHER_DEVICE)
    flow.save(model.state_dict(), tmp_path / "model")
    assert flow.load(tmp_path / "model")["weight"].device == OTHER_DEVICE
    loaded = flow.load(tmp_path / "model", map_location="cpu")
    assert loaded["weight"].device == flow.device("cpu")
    home = nn.Linear(3, 2)
    home.load_state_dict(flow.load(tmp_path / "model"))
    np.testing.assert_array_equal(home.weight.numpy(), model.weight.cpu().numpy())


def test_a_saved_graph_runs_there(tmp_path):
    flow.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).to(OTHER_DEVICE).eval()

    class Inference(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model

        def build(self, x):
            return self.model(x)

    graph, x = Inference(), flow.ones(2, 3, device=OTHER_DEVICE)
    expected = graph(x).cpu().numpy()
    graph.save(str(tmp_path / "graph"))
    loaded = nn.Graph.load(str(tmp_path / "graph"))
    np.testing.assert_allclose(loaded(x).cpu().numpy(), expected, rtol=1e-6)


def test_batches_of_workers_move_there():
    data = flow.utils.data.TensorDataset(flow.arange(8, dtype=flow.float32))
    loader = flow.utils.data.DataLoader(data, batch_size=4, num_workers=2, pin_memory=True)
    moved = [x.to(OTHER_DEVICE, non_blocking=True) * 2 for (x,) in loader]
    assert [tensor.tolist() for tensor in moved] == [[0, 2, 4, 6], [8, 10, 12, 14]]


def test_recomputation_and_hooks():
    flow.manual_seed(0)
    layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Tanh()).to(OTHER_DEVICE)
    x = flow.ones(2, 4, device=OTHER_DEVICE, requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.device))
    flow.utils.checkpoint.checkpoint(layer, x).sum().backward()
    assert seen == [OTHER_DEVICE] == [x.grad.device]


def test_memory_runs_out_and_training_goes_on():
    weight = nn.Parameter(flow.ones(64, 2, device=OTHER_DEVICE))
    optimizer = flow.optim.SGD([weight], lr=0.1, momentum=0.9)

    def step(rows):
        optimizer.zero_grad()
        (flow.ones(rows, 64, device=OTHER_DEVICE) @ weight).square().mean().backward()
        optimizer.step()
        return weight.tolist()

    before = step(8)
    with pytest.raises(flow.OutOfMemoryError):
        step(2**34)
    assert weight.tolist() == before
    assert step(8) != before


def test_linear_algebra():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((2, 5, 5)).astype(np.float32)
    symmetric = matrix @ matrix.transpose(0, 2, 1) + np.eye(5, dtype=np.float32)
    x = flow.tensor(symmetric, device=OTHER_DEVICE)
    for name in ("cholesky", "inv", "det", "eigvalsh", "svdvals"):
        theirs = getattr(torch.linalg, name)(torch.from_numpy(symmetric))
        mine = getattr(flow.linalg, name)(x)
        assert mine.device == OTHER_DEVICE
        np.testing.assert_allclose(mine.cpu().numpy(), theirs.numpy(), rtol=1e-3, atol=1e-3)


def test_global_tensors_there():
    place = flow.placement(OTHER_DEVICE.type, [OTHER_DEVICE.index])
    x = flow.ones(2, 3, placement=place, sbp=flow.sbp.split(0))
    assert (x @ x.T).sum().numpy() == 12.0
    assert x.to_local().device == OTHER_DEVICE


def test_memory_is_shared_or_copied_by_dlpack():
    if ACCELERATOR is not None and not torch.cuda.is_available():
        pytest.skip("PyTorch has no such device")
    theirs = torch.arange(6.0, device="cpu" if ACCELERATOR is None else "cuda").reshape(2, 3)
    mine = flow.from_dlpack(theirs)
    assert mine.device.type == theirs.device.type
    np.testing.assert_array_equal((mine * 2).cpu().numpy(), (theirs * 2).numpy(force=True))
    again = torch.from_dlpack(flow.ones(3, device=mine.device) + 1)
    assert again.device == theirs.device
    assert again.tolist() == [2, 2, 2]


@needs_accelerator
def test_the_accelerator_counts_its_memory():
    before = flow.cuda.memory_allocated()
    x = flow.ones(2**20, 16, device=OTHER_DEVICE) + 1
    flow.cuda.synchronize()
    assert flow.cuda.memory_allocated() - before >= 2**26
    del x
    flow.cuda.empty_cache()
    assert flow.cuda.memory_allocated() - before < 2**26
    assert flow.cuda.max_memory_allocated() >= 2**26
    free, total = flow.cuda.mem_get_info()
    assert 0 < free < total
    assert flow.cuda.get_device_name()
    assert flow.cuda.get_device_properties(0).total_memory > 2**30


@needs_accelerator
def test_events_measure_work():
    start, end = (flow.cuda.Event(enable_timing=True) for _ in range(2))
    x = flow.randn(4096, 4096, device=OTHER_DEVICE)
    (x @ x).sum().item()
    start.record()
    for _ in range(10):
        y = x @ x
    end.record()
    end.synchronize()
    assert 0.1 < start.elapsed_time(end) < 1e4
    with flow.cuda.stream(flow.cuda.Stream()):
        assert (y - x @ x).abs().max().item() == 0
    flow.cuda.synchronize()


@needs_accelerator
def test_precision_of_products_can_be_chosen():
    x = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    exact = x.astype(np.float64) @ x
    errors = []
    for precision in ("high", "highest"):
        flow.set_float32_matmul_precision(precision)
        mine = (flow.tensor(x, device=OTHER_DEVICE) @ flow.tensor(x, device=OTHER_DEVICE)).cpu()
        errors.append(np.abs(mine.numpy() - exact).max())
    assert errors[0] < 0.2
    assert errors[1] < 1e-3
