"""Features that the documentation of `nn.Graph` names."""

import inspect
import warnings

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow.base import cluster
from oneflow.nn.graph.block_config import BlockConfig
from oneflow.nn.graph.graph_config import GraphConfig
from tests.graph.helpers import TrainGraph, graph_of


class LinearGraph(nn.Graph):
    """The page's first example."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 8, False)

    def build(self, x):
        return self.linear(x)


def sums(module, *inputs):
    """A loss."""
    return module(*inputs).sum()


def trained(module, optimizer, x, steps=1, **options):
    """The graph after some steps on `x`."""
    graph = TrainGraph(module, sums, optimizer, **options)
    for _ in range(steps):
        graph(x)
    return graph


def first_output(level, capsys):
    """The output of the first call with `debug(level)`."""
    graph = LinearGraph()
    graph.debug(level)
    graph(flow.randn(4, 3))
    return capsys.readouterr().out


def test_s003_01_base_class():
    assert isinstance(nn.Graph, type)
    graph = LinearGraph()
    assert isinstance(graph, nn.Graph)
    graph(flow.ones(1, 3))
    assert graph.is_compiled


def test_s003_02_page_example():
    graph = LinearGraph()
    weight = graph.linear.weight.numpy()
    for _ in range(2):
        x = flow.randn(4, 3)
        result = graph(x)
        assert repr(result.shape) == "oneflow.Size([4, 8])"
        np.testing.assert_allclose(result.numpy(), x.numpy() @ weight.T, rtol=1e-4, atol=1e-6)


def test_s003_03_only_the_first_call_builds():
    calls = []
    linear = nn.Linear(3, 8)
    graph = graph_of(lambda x: calls.append(1) or linear(x).tanh(), linear=linear)
    x = flow.randn(5, 3)
    graph(x).numpy()
    step = next(iter(graph._steps.values()))
    for _ in range(4):
        graph(x).numpy()
    assert len(calls) == 1
    assert list(graph._steps.values()) == [step]


def test_s003_04_graphs_do_not_nest():
    with pytest.raises(TypeError, match="nested"):
        LinearGraph().inner = LinearGraph()


def test_s003_05_init_is_needed():
    class Forgot(nn.Graph):
        def __init__(self):
            pass

        def build(self, x):
            return x

    with pytest.raises(RuntimeError, match=r"super\(\)"):
        Forgot()(flow.ones(1))


def test_s003_06_build_is_needed():
    with pytest.raises(NotImplementedError):
        type("NoBuild", (nn.Graph,), {})()(flow.ones(1))


def test_s003_07_eval_before_the_first_call():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)).eval()
    x = flow.randn(4, 3)
    np.testing.assert_allclose(
        graph_of(lambda x: model(x), model=model)(x).numpy(), model(x).detach().numpy(), rtol=1e-6
    )


def test_s003_08_structures():
    graph = graph_of(lambda a, items, d: {"s": a + items[0], "n": None, "t": (d["k"],)})
    x = flow.ones(2)
    result = graph(x, [x, None], d={"k": x * 5})
    assert result["s"].tolist() == [2.0, 2.0]
    assert result["n"] is None
    assert isinstance(result["t"], tuple)
    assert result["t"][0].tolist() == [5.0, 5.0]


def test_s003_09_arguments_are_those_of_build():
    graph = graph_of(lambda x, y=None: x)
    graph.__class__.build = lambda self, x, y: x - y
    assert graph(flow.ones(1), y=flow.zeros(1)).item() == 1.0
    with pytest.raises(TypeError, match="missing"):
        graph(flow.ones(1))


def test_s003_10_call_is_not_overridden():
    assert "__call__" not in LinearGraph.__dict__
    with pytest.raises(TypeError, match="__call__"):
        type("Own", (nn.Graph,), {"__call__": lambda self: None})


def test_s003_11_add_optimizer():
    parameters = inspect.signature(nn.Graph.add_optimizer).parameters
    assert list(parameters) == ["self", "optim", "lr_sch", "is_sparse"]
    assert parameters["optim"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    for name, default in (("lr_sch", None), ("is_sparse", False)):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is default


@pytest.mark.parametrize("row", ["s003_12", "s003_18"])
def test_page_example_trains(row):
    loss_fn = nn.MSELoss(reduction="sum")
    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0, 1))
    optimizer = flow.optim.SGD(model.parameters(), lr=1e-6)

    class LinearTrainGraph(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model
            self.loss_fn = loss_fn
            self.add_optimizer(optimizer)

        def build(self, x, y):
            y_pred = self.model(x)
            loss = self.loss_fn(y_pred, y)
            loss.backward()
            return loss

    graph = LinearTrainGraph()
    x, y = flow.randn(10, 3), flow.randn(10)
    losses = [graph(x, y).item() for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]


def test_s003_13_gradients_are_clipped():
    model = nn.Linear(3, 1, bias=False)
    group = {
        "params": list(model.parameters()),
        "clip_grad_max_norm": 0.1,
        "clip_grad_norm_type": 2.0,
    }
    before = model.weight.numpy()
    trained(model, flow.optim.SGD([group], lr=0.5), flow.ones(4, 3))
    assert np.linalg.norm(before - model.weight.numpy()) <= 0.5 * 0.1 * 1.001


def test_s003_14_the_optimizer_steps():
    model = nn.Linear(3, 1)
    before = model.weight.numpy()
    trained(model, flow.optim.SGD(model.parameters(), lr=0.5), flow.ones(4, 3))
    assert (before != model.weight.numpy()).all()


def test_s003_15_gradients_start_from_zero():
    model = nn.Linear(3, 1, bias=False)
    before = model.weight.numpy()
    trained(model, flow.optim.SGD(model.parameters(), lr=0.5), flow.ones(4, 3), steps=2)
    np.testing.assert_allclose(before - model.weight.numpy(), 2 * 0.5 * 4, rtol=1e-5)
    assert model.weight.grad is None


def test_s003_16_the_schedule_steps():
    model = nn.Linear(1, 1, bias=False)
    optimizer = flow.optim.SGD(model.parameters(), lr=1.0)
    schedule = flow.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
    graph = TrainGraph(model, sums, optimizer, schedule)
    weights = [model.weight.item()]
    for _ in range(2):
        graph(flow.ones(1, 1))
        weights.append(model.weight.item())
    first, second = weights[0] - weights[1], weights[1] - weights[2]
    assert first == pytest.approx(10 * second, rel=1e-4)


def test_s003_17_only_scalars_go_backward():
    model = nn.Linear(3, 2)
    optimizer = flow.optim.SGD(model.parameters(), lr=1.0)
    with pytest.raises(RuntimeError, match="scalar"):
        TrainGraph(model, lambda m, x: m(x), optimizer)(flow.ones(1, 3))
    before = model.weight.numpy().copy()
    TrainGraph(model, lambda m, x: m(x).mean(), optimizer)(flow.ones(1, 3))
    np.testing.assert_allclose(before - model.weight.numpy(), 0.5, rtol=1e-5)


@pytest.mark.parametrize("scaled", [False, True])
def test_s003_19_grad_scaler(scaled):
    """Without a scaler the gradients of half precision become 0."""
    model = nn.Linear(3, 2)
    optimizer = flow.optim.SGD(model.parameters(), lr=1e8)
    graph = TrainGraph(model, lambda m, x: m(x).float().sum() * 1e-8, optimizer)
    graph.config.enable_amp(True)
    scaler = flow.amp.GradScaler(
        init_scale=3000, growth_factor=2.0, backoff_factor=0.5, growth_interval=1000
    )
    graph.set_grad_scaler(scaler if scaled else None)
    before = model.weight.numpy().copy()
    assert np.isfinite(graph(flow.ones(2, 3)).item())
    np.testing.assert_allclose(before - model.weight.numpy(), 2.0 * scaled, rtol=1e-2)


def test_s003_20_21_22_state_dict():
    def make():
        model = nn.Linear(2, 1, bias=False)
        return TrainGraph(model, sums, flow.optim.Adam(model.parameters(), lr=0.1))

    graph, x = make(), flow.ones(1, 2)
    graph(x)
    state = graph.state_dict()
    assert list(state["module"]) == list(graph.module.state_dict())
    other = make()
    with pytest.raises(RuntimeError, match="missing"):
        other.load_state_dict({"module": state["module"]})
    other.load_state_dict(state)
    assert other(x).item() == graph(x).item()
    with pytest.raises(RuntimeError, match="first call"):
        other.load_state_dict(state)


def test_s003_21_state_dict_continues():
    test_s003_20_21_22_state_dict()


def test_s003_22_state_dict_after_a_call():
    graph = LinearGraph()
    state = graph.state_dict()
    graph(flow.ones(1, 3))
    with pytest.raises(RuntimeError, match="first call"):
        graph.load_state_dict(state)


def test_s003_23_name():
    assert LinearGraph().name.startswith("LinearGraph_")


def test_s003_24_debug_takes_keywords(capsys):
    parameters = inspect.signature(nn.Graph.debug).parameters
    assert parameters["v_level"].default == 0
    for name, default in (("ranks", None), ("max_py_stack_depth", 2)):
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == default
    lengths = []
    for depth in (0, 3):
        graph = LinearGraph()
        graph.debug(3, ranks=[0], max_py_stack_depth=depth)
        graph(flow.ones(1, 3))
        lengths.append(len(capsys.readouterr().out))
    assert 0 < lengths[0] < lengths[1]


def test_s003_25_26_27_28_debug_levels(capsys):
    texts = [first_output(level, capsys) for level in range(4)]
    assert texts[0]
    lengths = [len(text) for text in texts]
    assert lengths == sorted(set(lengths))


@pytest.mark.parametrize("row", ["s003_26", "s003_27", "s003_28"])
def test_debug_levels(row, capsys):
    level = int(row[-2:]) - 25
    assert len(first_output(level, capsys)) > len(first_output(level - 1, capsys)) > 0


def test_s003_29_ranks(capsys, monkeypatch):
    monkeypatch.setattr(cluster, "_membership", cluster.Membership(rank=1, world_size=2))
    assert first_output(0, capsys) == ""
    graph = LinearGraph()
    graph.debug(0, ranks=-1)
    graph(flow.ones(1, 3))
    assert capsys.readouterr().out


def test_s003_30_debug_of_one_module(capsys):
    graph = LinearGraph()
    graph.linear.debug(1)
    graph(flow.ones(1, 3))
    text = capsys.readouterr().out
    assert "linear" in text
    assert "GRAPH" not in text


def test_s003_31_repr():
    graph = LinearGraph()
    before = repr(graph)
    graph(flow.randn(4, 3))
    after = repr(graph)
    assert "MODULE" in before
    assert "INPUT" not in before
    assert "INPUT" in after
    assert "OUTPUT" in after


def test_s003_32_config():
    config = LinearGraph().config
    assert type(config) is GraphConfig
    assert type(config).__name__ == "GraphConfig"


def test_s003_33_amp():
    graph, plain = LinearGraph(), LinearGraph()
    plain.linear.load_state_dict(graph.linear.state_dict())
    graph.config.enable_amp(True)
    x = flow.randn(4, 3)
    half = graph(x)
    assert half.dtype is flow.float16
    assert graph.linear.weight.dtype is flow.float32
    np.testing.assert_allclose(half.float().numpy(), plain(x).numpy(), rtol=0.02, atol=0.02)


def assert_chosen(config, option, key):
    """Setting an option is seen in the configuration, and what is no truth value is refused."""
    for chosen in (False, True):
        getattr(config, option)(chosen)
        assert f"{key}={chosen}" in repr(config)
    with pytest.raises(TypeError, match="must be True or False"):
        getattr(config, option)("yes")


@pytest.mark.parametrize(
    ("row", "option", "key"),
    [
        ("s003_34", "allow_fuse_model_update_ops", "fuse_model_update_ops"),
        ("s003_41", "enable_xla_jit", "xla_jit"),
    ],
)
def test_options_that_change_nothing(row, option, key):
    """XLA fuses and compiles always; the step is that of the formula."""
    assert_chosen(LinearGraph().config, option, key)
    x = flow.randn(2, 3)
    for chosen in (True, False):
        model = nn.Linear(3, 1)
        optimizer = flow.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
        graph = TrainGraph(model, sums, optimizer)
        getattr(graph.config, option)(chosen)
        before = model.weight.numpy().copy()
        graph(x)
        after = before - 0.1 * (x.numpy().sum(0) + 0.5 * before)
        np.testing.assert_allclose(model.weight.numpy(), after, rtol=1e-4, atol=1e-6)


def test_s003_35_fuse_add():
    norm = nn.BatchNorm1d(100)
    graph = graph_of(lambda x: norm(x) + x, bn1=norm)
    assert_chosen(graph.config, "allow_fuse_add_to_output", "fuse_add_to_output")
    x = flow.randn(4, 100)
    array = x.numpy()
    expected = (array - array.mean(0)) / np.sqrt(array.var(0) + 1e-5) + array
    np.testing.assert_allclose(graph(x).detach().numpy(), expected, rtol=1e-4, atol=1e-4)


def test_s003_36_fuse_cast_scale():
    graph = graph_of(lambda x: flow.mul(1, flow.cast(x, flow.int8)))
    assert_chosen(graph.config, "allow_fuse_cast_scale", "fuse_cast_scale")
    result = graph(flow.tensor([2.7]))
    assert result.dtype is flow.int8
    assert result.item() == 2


def test_s003_37_gradient_accumulation():
    model, twin, sizes = nn.Linear(3, 1), nn.Linear(3, 1), []
    twin.load_state_dict(model.state_dict())
    x = flow.randn(8, 3)

    def loss_of(m, x):
        sizes.append(x.shape[0])
        return m(x).pow(2).mean()

    graph = TrainGraph(model, loss_of, flow.optim.SGD(model.parameters(), lr=0.1))
    graph.config.set_gradient_accumulation_steps(4)
    assert graph(x).shape == (4,)
    assert set(sizes) == {2}
    twin(x).pow(2).mean().backward()
    flow.optim.SGD(twin.parameters(), lr=0.1).step()
    np.testing.assert_allclose(model.weight.numpy(), twin.weight.numpy(), rtol=1e-5)


def test_s003_40_zero_min_size():
    config = LinearGraph().config
    config.set_zero_redundancy_optimizer_min_size_after_split(1024)
    with pytest.raises(ValueError, match="at least 1"):
        config.set_zero_redundancy_optimizer_min_size_after_split(0)


@pytest.mark.parametrize(
    ("row", "option"), [("s003_42", "enable_tensorrt"), ("s003_43", "enable_openvino")]
)
def test_missing_engines_warn(row, option, monkeypatch):
    monkeypatch.setattr("oneflow.graph.engines.importlib.util.find_spec", lambda name: None)
    graph, plain = LinearGraph(), LinearGraph()
    plain.linear.load_state_dict(graph.linear.state_dict())
    getattr(graph.config, option)(True)
    x = flow.ones(2, 3)
    with pytest.warns(UserWarning, match=option):
        result = graph(x)
    assert flow.equal(result, plain(x))


def test_s003_43_openvino_runs_the_graph():
    graph, plain = LinearGraph(), LinearGraph()
    plain.linear.load_state_dict(graph.linear.state_dict())
    graph.config.enable_openvino(True)
    x = flow.randn(2, 3)
    np.testing.assert_allclose(graph(x).numpy(), plain(x).numpy(), rtol=1e-5, atol=1e-6)
    assert graph.last_step.executable.left_to_xla == {}


def test_s003_43_openvino_is_for_inference():
    model = nn.Linear(1, 1)
    graph = TrainGraph(model, sums, flow.optim.SGD(model.parameters(), lr=0.1))
    graph.config.enable_openvino(True)
    with pytest.raises(RuntimeError, match="inference only"):
        graph(flow.ones(1, 1))


def test_s003_44_cudnn_heuristics():
    conv = nn.Conv2d(16, 32, (3, 5), stride=(2, 1), padding=(4, 2), dilation=(3, 1))
    graph = graph_of(lambda x: conv(x), m=conv)
    name = "cudnn_conv_heuristic_search_algo"
    assert_chosen(graph.config, f"enable_{name}", name)
    graph.config.enable_cudnn_conv_heuristic_search_algo(False)
    x = np.random.default_rng(0).standard_normal((1, 16, 6, 6), np.float32)
    weight, bias = (torch.tensor(parameter.detach().numpy()) for parameter in conv.parameters())
    expected = torch.conv2d(torch.tensor(x), weight, bias, (2, 1), (4, 2), (3, 1))
    np.testing.assert_allclose(
        graph(flow.tensor(x)).detach().numpy(), expected, rtol=1e-4, atol=1e-5
    )


def test_s003_45_block_config():
    graph = LinearGraph()
    assert hasattr(graph.linear, "config")
    assert type(graph.linear.config) is BlockConfig
    assert graph.linear.to(nn.graph.graph_block.GraphModule) is graph.linear


def test_s003_46_stage_id():
    graph = graph_of(lambda x: x, pipeline=nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)))
    graph.pipeline[0].config.stage_id = 0
    graph.pipeline[1].config.stage_id = 1
    assert [block.config.stage_id for block in graph.pipeline] == [0, 1]


def test_s003_47_activation_checkpointing():
    def peak(checkpointed):
        flow.manual_seed(0)
        model = nn.Sequential(
            *(nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8)) for _ in range(6))
        )
        graph = TrainGraph(model, sums, flow.optim.SGD(model.parameters(), lr=0.1))
        for block in graph.module:
            block.config.activation_checkpointing = checkpointed
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            graph(flow.ones(4096, 8))
        (step,) = graph._steps.values()
        memory = step.executable.memory().temp_size_in_bytes
        return memory, [p.numpy() for p in model.parameters()]

    (kept, mine), (again, theirs) = peak(False), peak(True)
    assert again < 0.7 * kept
    assert all((a == b).all() for a, b in zip(mine, theirs, strict=True))
