"""Loops that overwrite large tensors and read nothing hold a bounded amount of memory."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.runtime import dead_inputs, eager

_SIZE = 10_000


@pytest.fixture
def limit_flushes(monkeypatch):
    """The number of programs that were run for their memory; of that of a few tensors here."""
    for module in (eager, dead_inputs):
        monkeypatch.setattr(module, "MANY_BYTES", 16 * 4 * _SIZE)
    flow.zeros(1).item()
    before = flow.eager.statistics().flushes["limit"]
    return lambda: flow.eager.statistics().flushes["limit"] - before


def _copied(x, numbers):
    x.copy_(flow.tensor(numbers))
    return x


def _added(x, numbers):
    x += flow.tensor(numbers)
    return x


def _made_anew(x, numbers):
    return flow.tensor(numbers) * 2


@pytest.mark.parametrize(("change", "last"), [(_copied, 99), (_added, 4950), (_made_anew, 198)])
def test_a_loop_that_overwrites_a_tensor_runs_now_and_then(change, last, limit_flushes):
    x = flow.zeros(_SIZE)
    for turn in range(100):
        x = change(x, np.full(_SIZE, turn, "float32"))
    assert limit_flushes() in range(3, 20)
    assert (x.numpy() == last).all()


@pytest.mark.parametrize("optimizer", [flow.optim.SGD, flow.optim.AdamW])
def test_training_steps_are_not_split(optimizer, limit_flushes):
    """Their parameters, gradients and moments are overwritten, too, by others of their size."""
    model = flow.nn.Sequential(*(flow.nn.Linear(100, 100) for _ in range(9)))
    steps = optimizer(model.parameters(), lr=1e-3)
    for _ in range(5):
        model(flow.ones(2, 100)).sum().backward()
        steps.step()
        steps.zero_grad()
    assert limit_flushes() == 0


def test_steps_written_by_hand_are_not_split(limit_flushes):
    parameters = [flow.ones(_SIZE, requires_grad=True) for _ in range(30)]
    for _ in range(4):
        batches = [flow.tensor(np.ones(_SIZE, "float32")) for _ in range(10)]
        products = [a * batches[i // 3] for i, a in enumerate(parameters)]
        sum(product.sum() for product in products).backward()
        with flow.no_grad():
            for parameter in parameters:
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
    assert limit_flushes() == 0


def test_a_write_behind_a_failed_check_is_taken_back(limit_flushes):
    """However much memory is held where the write is noted."""
    for count in range(8, 24):
        x, total = flow.full((_SIZE,), 2.0), flow.zeros(())
        x.numpy()
        _wrong = flow.zeros(3)[flow.tensor([0, 7])]
        for _ in range(count):
            total = total + flow.tensor(np.ones(_SIZE, "float32")).sum()
        x.add_(1)
        with pytest.raises(IndexError):
            x.numpy()
        assert (x.numpy() == 2).all(), count
    assert limit_flushes() > 0
