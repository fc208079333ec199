"""Proof of life: each part of the framework once, in less than a minute."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn

PROGRAM = """
import oneflow as flow
grid = flow.placement("cpu", [0, 1])
ones = flow.ones(2, 3).to_global(grid, flow.sbp.split(0))
assert ones.shape == (4, 3)
assert ones.sum().numpy() == 12.0
print("rank", flow.env.get_rank(), "done")
"""


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))


def batch() -> tuple[flow.Tensor, flow.Tensor]:
    images = flow.randn(24, 6)
    return images, (images.sum(1) > 0).long()


class TrainingGraph(nn.Graph):
    """A whole training step."""

    def __init__(self, model: nn.Module, optimizer: flow.optim.Optimizer) -> None:
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer)

    def build(self, images: flow.Tensor, labels: flow.Tensor) -> flow.Tensor:
        loss = nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()
        return loss


def test_values_and_gradients_are_torchs() -> None:
    numbers = np.random.default_rng(0).standard_normal((4, 5))
    x = flow.tensor(numbers, requires_grad=True)
    y = torch.tensor(numbers, requires_grad=True)
    for library, tensor in ((flow, x), (torch, y)):
        (library.softmax(tensor, 1).log() * tensor.T.exp().mean(1)[0]).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-9)


def test_writes_go_through_views() -> None:
    x = flow.zeros(3, 4)
    x[0][1] = 8
    x[1:].add_(1)
    assert x.tolist() == [[0, 8, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]


def test_eager_training_and_a_graph_take_the_same_steps() -> None:
    images, labels = batch()
    losses = []
    for as_graph in (False, True):
        flow.manual_seed(1)
        model = perceptron()
        optimizer = flow.optim.AdamW(model.parameters(), lr=0.05)
        graph = TrainingGraph(model, optimizer)

        def step(model=model, optimizer=optimizer) -> flow.Tensor:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        losses.append([(graph(images, labels) if as_graph else step()).item() for _ in range(8)])
    assert losses[0][-1] < 0.7 * losses[0][0]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_a_convolution_trains_in_half_precision() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(144, 2))
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    images, labels = flow.randn(8, 1, 8, 8), flow.arange(8) % 2
    losses = []
    for _ in range(6):
        with flow.autocast("cpu", dtype=flow.bfloat16):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_saved_models_come_back(tmp_path) -> None:
    model, other = perceptron(), perceptron()
    flow.save(model.state_dict(), tmp_path / "model")
    other.load_state_dict(flow.load(tmp_path / "model"))
    x = flow.randn(2, 6)
    np.testing.assert_array_equal(model(x).numpy(), other(x).numpy())


def test_a_loader_gives_every_sample_once() -> None:
    samples = flow.utils.data.TensorDataset(flow.arange(10))
    loader = flow.utils.data.DataLoader(samples, batch_size=4, shuffle=True)
    assert sorted(number for (tensor,) in loader for number in tensor.tolist()) == list(range(10))


def test_a_global_product_is_the_local_one() -> None:
    grid = flow.placement("cpu", [0, 1])
    a, b = flow.randn(4, 6), flow.randn(6, 2)
    left = a.to_global(grid, flow.sbp.broadcast).to_global(sbp=flow.sbp.split(1))
    right = b.to_global(grid, flow.sbp.broadcast).to_global(sbp=flow.sbp.split(0))
    product = left @ right
    assert product.sbp == (flow.sbp.partial_sum,)
    np.testing.assert_allclose(product.numpy(), a.numpy() @ b.numpy(), rtol=1e-5)


def test_a_bad_index_is_an_error_and_training_goes_on() -> None:
    table = nn.Embedding(3, 2)
    with pytest.raises(IndexError, match="7"):
        table(flow.tensor([0, 7])).numpy()
    assert table(flow.tensor([2])).shape == (1, 2)


@pytest.mark.multiprocess
@pytest.mark.xdist_group("processes")
def test_two_processes_share_a_tensor(tmp_path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    launch = [sys.executable, "-m", "oneflow.distributed.launch", "--nproc_per_node", "2"]
    run = subprocess.run(
        [*launch, script], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert all(f"rank {rank} done" in run.stdout for rank in (0, 1))
