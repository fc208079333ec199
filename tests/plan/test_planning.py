"""Planning: nothing runs, nothing is stored, everything else is as always."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oneflow as flow
from examples import plans
from oneflow.plan import plan_graph, planning

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum


def many(*hierarchy):
    return flow.placement("cuda", range(int(np.prod(hierarchy))), hierarchy)


def test_tensors_of_any_size_on_devices_that_are_not_there():
    with planning():
        x = flow.randn(1 << 20, 1 << 20, placement=many(64, 64), sbp=[S(0), B])
        layer = flow.nn.Linear(1 << 20, 1 << 14).to_global(many(64, 64), [B, S(0)])
        y = layer(x)
        y.sum().backward()
        flow.optim.AdamW(layer.parameters()).step()
        assert y.shape == (1 << 20, 1 << 20)
        assert y.sbp == (S(0), S(1))
        assert layer.weight.grad.sbp == layer.weight.sbp == (B, S(0))
        assert x.to_local().shape == (1 << 14, 1 << 20)


def test_absent_devices_are_an_error_outside():
    with pytest.raises(RuntimeError, match="no cuda device"):
        flow.ones(4, placement=flow.placement("cuda", [0, 1, 2, 3, 77]), sbp=S(0))


def test_values_are_not_to_be_read():
    with planning():
        for x in (flow.ones(3), flow.ones(3, placement=many(4), sbp=B)):
            for read in (x.numpy, x.tolist, x[0].item, lambda x=x: bool(x.sum() > 0)):
                with pytest.raises(RuntimeError, match="no values to read"):
                    read()
    with pytest.raises(RuntimeError, match="no values to read"):
        x.numpy()


def test_what_was_recorded_before_runs():
    x = flow.ones(3) * 2
    with planning():
        flow.ones(2) + 1
    assert x.tolist() == [2, 2, 2]


@pytest.mark.parametrize("zero", [0, 3])
def test_a_plan_leaves_a_graph_as_it_was(zero):
    pair = flow.placement("cpu", [0, 1])
    flow.manual_seed(0)
    graph, inputs = plans.mlp(pair, batch=4, width=8, zero=zero)
    position = flow.get_rng_state().tolist()
    plan = graph.plan(*inputs, compile=False)
    assert plan.account.sent > 0
    assert flow.get_rng_state().tolist() == position
    assert not graph.is_compiled
    losses = [graph(*inputs).item() for _ in range(3)]
    after = graph.plan(*inputs, compile=False)
    assert after.account == plan.account
    losses.append(graph(*inputs).item())
    flow.manual_seed(0)
    graph, inputs = plans.mlp(pair, batch=4, width=8, zero=zero)
    assert losses == [graph(*inputs).item() for _ in range(4)]


def test_a_plan_is_about_a_placement():
    class Double(flow.nn.Graph):
        def build(self, x):
            return x * 2

    with pytest.raises(TypeError, match="a plan is about global tensors"):
        plan_graph(Double(), flow.ones(3))


def test_more_devices_than_xla_takes():
    with planning():
        graph, inputs = plans.gpt(many(64, 64), batch=512, strategy="2d", heads=64, layers=1)
        plan = plan_graph(graph, *inputs)
    assert plan.contents.xla is None
    assert "at most 2048 devices" in repr(plan)
    assert plan.contents.mesh() == "64 x 64 = 4096 cuda devices"
    assert "model.blocks.*.attention.query.weight" in repr(plan)
    assert "attention_backward" in plan.listing()


def test_the_devices_that_stand_for_others_must_be_enough():
    with planning():
        graph, inputs = plans.mlp(many(16), batch=64, width=64)
        plan = plan_graph(graph, *inputs)
    assert "ONEFLOW_CPU_DEVICES=16 is needed" in repr(plan)


class Autoencoder(flow.nn.Graph):
    """Training without any run-time check."""

    def __init__(self, placement, zero):
        super().__init__()
        layers = flow.nn.Linear(64, 256), flow.nn.ReLU(), flow.nn.Linear(256, 64)
        self.model = flow.nn.Sequential(*layers).to_global(placement, B)
        self.add_optimizer(flow.optim.Adam(self.model.parameters()))
        if zero:
            self.config.enable_zero(stage=zero)

    def build(self, x):
        loss = (self.model(x) - x).square().mean()
        loss.backward()
        return loss


def test_a_plan_is_the_same_whatever_ran_before():
    def peaks() -> list[int]:
        with planning():
            x = flow.randn(32, 64, placement=many(4), sbp=S(0))
            accounts = [
                Autoencoder(many(4), stage).plan(x, compile=False).account for stage in range(4)
            ]
        return [account.memory.peak for account in accounts]

    with ThreadPoolExecutor(1) as new_thread:
        before = new_thread.submit(peaks).result()
    flow.tensor([1.0]).gather(0, flow.tensor([0])).item()  # from here on programs take the flag
    assert peaks() == before
