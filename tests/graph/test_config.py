"""Options of graphs and of their modules."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F
from tests.graph.helpers import TrainGraph, graph_of, only_step, train_eagerly


def mean_square(module, x):
    """A loss."""
    return (module(x) ** 2).mean()


def sgd(module, **options):
    """A simple optimizer."""
    return flow.optim.SGD(module.parameters(), lr=0.1, **options)


# --- mixed precision


@pytest.mark.parametrize("half", [flow.float16, flow.bfloat16])
def test_mixed_precision_trains_like_full_precision(half):
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))
    twin = copy.deepcopy(model)
    batches = [(flow.randn(8, 4),) for _ in range(10)]
    losses = train_eagerly(model, mean_square, sgd(model), batches)
    graph = TrainGraph(twin, mean_square, sgd(twin))
    graph.config.enable_amp(True, dtype=half)
    static = [graph(*batch) for batch in batches]
    assert all(tensor.dtype is flow.float32 for tensor in static)
    np.testing.assert_allclose([tensor.item() for tensor in static], losses, rtol=0.05, atol=0.01)
    assert all(p.dtype is flow.float32 for p in twin.parameters())
    text = flow.eager.format_program(only_step(graph).executable.program)
    assert f"{str(half).split('.')[1]}[8,8] = linear" in text


def test_mixed_precision_can_be_turned_off_again():
    layer = nn.Linear(2, 2)
    graph = graph_of(lambda x: layer(x), layer=layer)
    graph.config.enable_amp(True)
    assert graph(flow.ones(1, 2)).dtype is flow.float16
    graph.config.enable_amp(False)
    assert graph(flow.ones(1, 2)).dtype is flow.float32
    with pytest.raises(ValueError, match="float16 or"):
        graph.config.enable_amp(True, dtype=flow.float32)


STEPPED = {
    "SGD": lambda p: flow.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
    "Adam": lambda p: flow.optim.Adam(p, lr=0.1, amsgrad=True),
    "AdamW": lambda p: flow.optim.AdamW(p, lr=0.1, weight_decay=0.1),
    "NAdam": lambda p: flow.optim.NAdam(p, lr=0.1),
    "RAdam": lambda p: flow.optim.RAdam(p, lr=0.1, betas=(0.5, 0.8)),
    "LAMB": lambda p: flow.optim.LAMB(p, lr=0.1),
    "Adagrad": lambda p: flow.optim.Adagrad(p, lr=0.1, lr_decay=0.5),
    "Rprop": lambda p: flow.optim.Rprop(p, lr=0.1),
    "ASGD": lambda p: flow.optim.ASGD(p, lr=0.1, lambd=0.1, t0=3),
    "SparseAdam": lambda p: flow.optim.SparseAdam(p, lr=0.1),
}
FACTORS = [float("inf"), 1.0, -1.5, float("inf"), 2.0, *[1.0] * 6]


def scaled_steps(make, factors, static):
    """A weight that was trained with a scaler, its optimizer, the scaler and the graph."""
    model = nn.Linear(1, 2)
    for index, parameter in enumerate(model.parameters()):
        parameter.data.fill_(0.5 + index)
    optimizer = make(model.parameters())
    schedule = flow.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    scaler = flow.amp.GradScaler(init_scale=8.0, growth_interval=2)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), optimizer, schedule)
    graph.set_grad_scaler(scaler)
    for factor in factors:
        x = flow.full((1, 1), factor)
        if static:
            graph(x)
        else:
            scaler.scale(model(x).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            schedule.step()
    return model, optimizer, scaler, graph


@pytest.mark.parametrize("name", STEPPED)
def test_a_grad_scaler_in_a_graph_is_that_of_eager_mode(name):
    eager, static = (scaled_steps(STEPPED[name], FACTORS, static) for static in (False, True))
    for mine, theirs in zip(static[0].parameters(), eager[0].parameters(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)
    assert static[2].state_dict() == eager[2].state_dict()
    # Two steps were skipped, and nothing was compiled again for it.
    states = static[1].state_dict()["state"]
    for index, state in eager[1].state_dict()["state"].items():
        for key, value in state.items():
            np.testing.assert_allclose(states[index][key], value, rtol=1e-6, err_msg=key)
    assert [int(state["step"]) for state in states.values()] == [9, 9]
    assert len(static[3]._steps) == 1


def test_eager_steps_between_those_of_a_graph_with_a_grad_scaler():
    model, optimizer, _, graph = scaled_steps(STEPPED["NAdam"], FACTORS[:3], True)
    twin, other, _, same = scaled_steps(STEPPED["NAdam"], FACTORS[:3], False)
    step = only_step(graph)

    def step_eagerly(module, its_optimizer):
        module(x).sum().backward()
        its_optimizer.step()
        its_optimizer.zero_grad()

    for factor in (1.0, 2.0):
        x = flow.full((1, 1), factor)
        step_eagerly(model, optimizer)
        step_eagerly(twin, other)
        counts = [o.counts_of(o.state[m.weight]) for o, m in ((optimizer, model), (other, twin))]
        assert counts[0] == pytest.approx(counts[1])
        graph(x)
        step_eagerly(twin, other)
        same._optimizers[0].scheduler.step()
        np.testing.assert_allclose(model.weight.numpy(), twin.weight.numpy(), rtol=1e-6)
    assert only_step(graph) is step
    assert optimizer.state[model.weight]["step"].item() == 6
    before = other.counts_of(other.state[twin.weight])
    other.load_state_dict(optimizer.state_dict())
    assert other.counts_of(other.state[twin.weight]) == pytest.approx(before)


def scaler_after_changes(is_static):
    """State of a scaler that is changed between steps, which a graph does or eager mode."""
    flow.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = sgd(model)
    scaler = flow.amp.GradScaler(init_scale=8.0, growth_interval=1)
    graph = TrainGraph(model, mean_square, optimizer)
    graph.set_grad_scaler(scaler)
    x = flow.ones(1, 2)

    def step():
        if is_static:
            graph(x)
            return
        scaler.scale(mean_square(model, x)).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    step()
    scaler.load_state_dict({**scaler.state_dict(), "scale": 4.0, "growth_interval": 3})
    step()
    step()
    scaler.growth_factor = 4.0
    step()
    scaler.update(32.0)
    step()
    return scaler.state_dict()


def test_a_grad_scaler_may_be_changed_between_the_steps_of_a_graph():
    state = scaler_after_changes(is_static=True)
    assert state == scaler_after_changes(is_static=False)
    assert state["scale"] == 32.0


def test_a_scaler_that_is_turned_off_skips_nothing():
    model = nn.Linear(1, 1)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), sgd(model))
    graph.set_grad_scaler(flow.amp.GradScaler(enabled=False))
    graph(flow.full((1, 1), float("inf")))
    assert model.weight.item() == float("-inf")


def test_a_static_scaler_in_a_graph_changes_nothing():
    model = nn.Linear(3, 2)
    twin = copy.deepcopy(model)
    x = flow.randn(4, 3)
    TrainGraph(model, mean_square, sgd(model))(x)
    graph = TrainGraph(twin, mean_square, sgd(twin))
    graph.set_grad_scaler(flow.amp.StaticGradScaler(1024.0))
    graph(x)
    assert flow.equal(model.weight, twin.weight)
    with pytest.raises(TypeError, match="grad_scaler"):
        graph.set_grad_scaler(3.0)


# --- gradient accumulation


def test_micro_batches_step_with_the_mean_of_their_gradients():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))
    twin = copy.deepcopy(model)
    optimizer = sgd(model, momentum=0.9)
    graph = TrainGraph(twin, mean_square, sgd(twin, momentum=0.9))
    graph.config.set_gradient_accumulation_steps(4)
    for seed in range(3):
        x = flow.randn(8, 3)
        flow.manual_seed(seed)
        losses = []
        for part in x.chunk(4):
            loss = mean_square(model, part)
            (loss / 4).backward()
            losses.append(loss.item())
        optimizer.step()
        optimizer.zero_grad()
        flow.manual_seed(seed)
        static = graph(x)
        assert static.shape == (4,)
        np.testing.assert_allclose(static.numpy(), losses, rtol=1e-5)
    for mine, theirs in zip(twin.state_dict().values(), model.state_dict().values(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=2e-5)


def test_results_of_micro_batches_are_put_together():
    model = nn.Linear(3, 2)

    class Graph(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model
            self.add_optimizer(sgd(model))
            self.config.set_gradient_accumulation_steps(2)

        def build(self, x, scale):
            y = self.model(x) * scale
            y.sum().backward()
            return {"y": y, "scale": scale}

    x = flow.randn(4, 3)
    expected = model(x).detach().numpy() * 3
    result = Graph()(x, flow.tensor(3.0))
    np.testing.assert_allclose(result["y"].numpy(), expected, rtol=1e-6)
    assert result["scale"].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="multiple of 2"):
        Graph()(flow.randn(3, 3), flow.tensor(3.0))
    with pytest.raises(ValueError, match="at least 1"):
        Graph().config.set_gradient_accumulation_steps(0)


# --- activation checkpointing


class Deep(nn.Module):
    """Layers whose activations are large beside their parameters."""

    def __init__(self, width=16, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.Tanh())
            for _ in range(depth)
        )

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_checkpointing_gives_the_same_gradients_in_less_memory():
    model = Deep()
    x = flow.randn(4096, 16)
    results, memory = [], []
    for checkpointed in (False, True):
        twin = copy.deepcopy(model)
        graph = TrainGraph(twin, mean_square, sgd(twin))
        for layer in graph.module.layers:
            layer.config.activation_checkpointing = checkpointed
        graph(x)
        results.append([p.numpy() for p in twin.parameters()])
        memory.append(only_step(graph).executable.memory().temp_size_in_bytes)
    for kept, again in zip(*results, strict=True):
        np.testing.assert_array_equal(kept, again)
    assert memory[1] < 0.7 * memory[0], memory


def test_checkpointing_may_be_turned_on_after_a_call():
    calls = []
    model = nn.Linear(2, 1)
    graph = TrainGraph(model, lambda m, x: calls.append(1) or m(x).sum(), sgd(model))
    for checkpointed in (False, True):
        graph.module.config.activation_checkpointing = checkpointed
        graph(flow.ones(1, 2))
        graph(flow.ones(1, 2))
    assert len(calls) == 2


def test_checkpointed_modules_draw_and_count_once():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
    states = []
    for checkpointed in (False, True):
        twin = copy.deepcopy(model)
        graph = TrainGraph(twin, mean_square, sgd(twin))
        graph.module.activation_checkpointing = checkpointed
        flow.manual_seed(0)
        x = flow.arange(12.0).view(4, 3)
        for _ in range(2):
            graph(x)
        states.append(twin.state_dict())
    for kept, again in zip(states[0].values(), states[1].values(), strict=True):
        np.testing.assert_allclose(kept.numpy(), again.numpy(), rtol=1e-6, atol=1e-6)


def test_what_checkpointed_modules_assign_is_assigned_once():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.register_buffer("steps", flow.zeros(1))
            self.total = flow.zeros(1)
            self.sums = flow.zeros(1)
            self.runs = 0

        def forward(self, x):
            self.steps = self.steps + 1
            self.total = self.total + x.sum()
            self.sums += x.sum()
            self.runs += 1
            return self.layer(x).tanh() * self.steps

    states = []
    for checkpointed in (False, True):
        flow.manual_seed(0)
        model = Counted()
        graph = TrainGraph(model, mean_square, sgd(model))
        graph.module.activation_checkpointing = checkpointed
        for _ in range(2):
            graph(flow.ones(1, 2))
        assert [model.steps.item(), model.total.item(), model.sums.item()] == [2.0, 4.0, 4.0]
        assert model.runs == 1
        states.append(model.layer.weight.numpy())
    np.testing.assert_allclose(*states, rtol=1e-6)


# --- blocks


def test_blocks_behave_as_their_modules():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    graph = graph_of(lambda x: x, model=model)
    block = graph.model
    x = flow.ones(1, 2)
    assert block.origin is model
    assert graph.model is block
    assert flow.equal(block(x), model(x))
    assert len(block) == 2
    assert block[0] is graph.model[0]
    assert [member.origin for member in block] == list(model)
    assert block[0].weight is model[0].weight
    assert list(block.parameters()) == list(model.parameters())
    assert repr(block) == repr(model)
    block.training = False
    assert not model.training
    assert block.to(nn.graph.GraphModule) is block
    assert block.to(nn.Module) is model
    assert block.to(flow.float64) is block
    assert model[0].weight.dtype is flow.float64
    with pytest.raises(AttributeError, match="nothing"):
        _ = block.nothing


def test_blocks_have_options_of_their_own():
    graph = graph_of(lambda x: x, model=nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    first = graph.model[0]
    assert first.config.stage_id is None
    first.config.stage_id = 1
    graph.model[1].set_stage(0)
    assert (graph.model[0].stage_id, graph.model[1].config.stage_id) == (1, 0)
    first.stage_id = 2
    first.to(nn.graph.GraphModule).activation_checkpointing = True
    assert repr(first.config) == "BlockConfig(stage_id=2, activation_checkpointing=True)"
    assert isinstance(first.config, nn.graph.block_config.BlockConfig)
    with pytest.raises(ValueError, match="stage_id"):
        first.config.stage_id = -1


def test_a_module_may_be_replaced_or_deleted():
    graph = graph_of(lambda x: x, model=nn.ReLU())
    graph.model = nn.Tanh()
    assert isinstance(graph.model.origin, nn.Tanh)
    graph.model = None
    assert graph.model is None
    graph.model = nn.ReLU()
    del graph.model
    assert not hasattr(graph, "model")


# --- options that XLA makes true, and engines


def test_updates_casts_and_additions_are_fused():
    model = nn.Linear(64, 64)
    optimizer = flow.optim.Adam(model.parameters(), lr=0.1, weight_decay=0.1)
    graph = TrainGraph(model, mean_square, optimizer)
    graph.config.allow_fuse_model_update_ops(True)
    graph.config.allow_fuse_add_to_output(True)
    graph(flow.ones(2, 64))
    hlo = only_step(graph).executable.hlo()
    entry = hlo[hlo.index("ENTRY") :]
    assert "fusion" in entry
    assert not re.search(r"\[[\d,]+\]\S* (sqrt|divide|subtract)\(", entry)  # of arrays

    graph = graph_of(lambda x: flow.mul(1, flow.cast(x, flow.int8)))
    graph.config.allow_fuse_cast_scale(True)
    assert graph(flow.tensor([2.5])).dtype is flow.int8

    norm = nn.BatchNorm1d(100).eval()
    graph = graph_of(lambda x: norm(x) + x, norm=norm)
    graph.config.allow_fuse_add_to_output(True)
    x = flow.randn(3, 100)
    np.testing.assert_allclose(graph(x).numpy(), (norm(x) + x).detach().numpy(), rtol=1e-6)
    entry = only_step(graph).executable.hlo().split("ENTRY")[1]
    assert " add(" not in entry


def test_zero_options_are_checked():
    config = graph_of(lambda x: x).config
    config.set_zero_redundancy_optimizer_mode("distributed_split")
    config.set_zero_redundancy_optimizer_min_size_after_split(1)
    assert config.zero_redundancy_optimizer_mode == "distributed_split"
    with pytest.raises(ValueError, match="non_distributed"):
        config.set_zero_redundancy_optimizer_mode("everything")
    with pytest.raises(ValueError, match="at least 1"):
        config.set_zero_redundancy_optimizer_min_size_after_split(0)
    assert "tensorrt=False" in repr(config)
    assert type(config) is nn.graph.graph_config.GraphConfig


def test_options_are_flags():
    graph = graph_of(lambda x: x, layer=nn.Linear(1, 1))
    for name in ("enable_amp", "allow_fuse_cast_scale", "enable_xla_jit", "enable_zero"):
        with pytest.raises(TypeError, match="must be True or False, got 'yes'"):
            getattr(graph.config, name)("yes")
    with pytest.raises(TypeError, match="activation_checkpointing"):
        graph.layer.config.activation_checkpointing = 1
    with pytest.raises(AttributeError, match="checkpointing"):
        graph.layer.config.checkpointing = True
    with pytest.raises(AttributeError, match="amp"):
        graph.config.amp = True


def test_zero_in_one_call():
    config = graph_of(lambda x: x).config
    config.enable_zero(True, stage=3, shard_min_size=64)
    assert "'distributed_split'" in repr(config)
    assert "zero_stage=3" in repr(config)
    config.enable_zero(False)
    assert config.zero_redundancy_optimizer_mode is None
    with pytest.raises(ValueError, match="`stage` must be 1, 2 or 3"):
        config.enable_zero(stage=4)


def test_options_that_xla_makes_true():
    config = graph_of(lambda x: x).config
    config.enable_straighten_algorithm("SpeedFirst")
    config.enable_compress_memory(True)
    config.enable_multi_tensor_update(True)
    config.enable_fused_model_update_cast(True)
    with pytest.raises(ValueError, match="MemoryFirst"):
        config.enable_straighten_algorithm("Fast")


def test_engines_that_are_not_installed_leave_the_graph_to_xla(monkeypatch):
    monkeypatch.setattr("oneflow.graph.engines.importlib.util.find_spec", lambda name: None)
    graph = graph_of(lambda x: F.relu(x))
    graph.config.enable_xla_jit(True)
    graph.config.enable_cudnn_conv_heuristic_search_algo(False)
    for package in ("tensorrt", "openvino"):
        enable = getattr(graph.config, f"enable_{package}")
        enable(True)
        with pytest.warns(UserWarning, match=f"`{package}` is not installed") as seen:
            assert graph(flow.ones(1)).item() == 1.0
        assert seen[0].filename == __file__
        enable(False)
    model = nn.Linear(1, 1)
    training = TrainGraph(model, mean_square, sgd(model))
    training.config.enable_openvino(True)
    with pytest.raises(RuntimeError, match="inference only"):
        training(flow.ones(1, 1))


@pytest.mark.parametrize(("has_gpu", "missing"), [(False, "needs a GPU"), (True, "needs graphs")])
def test_engines_that_are_installed_say_what_else_they_need(has_gpu, missing, monkeypatch):
    monkeypatch.setattr("oneflow.graph.engines.importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr("oneflow.graph.engines.is_available", lambda: has_gpu)
    graph = graph_of(lambda x: F.relu(x))
    graph.config.enable_tensorrt(True)
    with pytest.raises(RuntimeError, match=missing):
        graph(flow.ones(1))
    graph.config.enable_tensorrt(False)
    assert graph(flow.ones(1)).item() == 1.0
