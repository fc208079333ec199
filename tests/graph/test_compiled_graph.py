"""The methods of graphs in OneFlow 0.9 and 1.0: compiling ahead, sharing, runtime states, views."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import graph_of


class Linear(nn.Graph):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def build(self, x):
        return self.layer(x)


def test_a_traced_function():
    calls = []

    @nn.Graph.trace
    def scaled(x, factor=2, *, parts=None):
        calls.append(factor)
        return {"y": x * factor, "parts": parts}

    for value in (1.0, 5.0):
        result = scaled(flow.full((2,), value), 3, parts=[flow.ones(1)])
        assert result["y"].tolist() == [3 * value] * 2
        assert result["parts"][0].tolist() == [1.0]
    assert calls == [3]
    assert isinstance(scaled, nn.Graph)
    assert "scaled" in scaled.name
    with pytest.raises(TypeError, match="function"):
        nn.Graph.trace(3)


def test_compiling_ahead():
    graph = Linear()
    with pytest.raises(RuntimeError, match="build_graph"):
        graph.finish_compile_and_init_runtime()
    x = flow.randn(4, 3)
    graph.build_graph(x)
    assert graph.is_compiled
    graph.finish_compile_and_init_runtime()
    graph.finish_complie_and_init_runtime()
    step = graph.last_step
    np.testing.assert_allclose(graph(x).numpy(), graph.layer(x).detach().numpy(), rtol=1e-6)
    assert graph.last_step is step


@nn.Graph.with_dynamic_input_shape(size=2)
class _Doubled(nn.Graph):
    def build(self, x):
        return x * 2


class _DoubledAsInOneFlow(nn.Graph):
    @nn.Graph.with_dynamic_input_shape(size=2)
    def __init__(self):
        super().__init__()

    def build(self, x):
        return x * 2


@pytest.mark.parametrize("graph_class", [_Doubled, _DoubledAsInOneFlow])
def test_graphs_for_arguments_of_many_shapes(graph_class):
    graph = graph_class()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1, 2, 3, 2, 4):
            assert graph(flow.ones(size)).tolist() == [2.0] * size
    assert len(graph._steps) == 2
    with pytest.raises(ValueError, match="size"):
        nn.Graph.with_dynamic_input_shape(size=0)
    with pytest.raises(TypeError, match="decorates a graph class"):
        nn.Graph.with_dynamic_input_shape()(graph)
    graph._dynamic_input_graph_cache.set_cache_size(1)
    graph(flow.ones(5))
    assert len(graph._steps) == 1


def test_graphs_that_share_their_modules():
    first, second = Linear(), Linear()
    with pytest.raises(RuntimeError, match="enable_shared"):
        second.share_from(first)
    first.enable_shared()
    first(flow.ones(2, 3))
    second.share_from(first)
    x = flow.randn(5, 3)
    np.testing.assert_allclose(second(x).numpy(), first.layer(x).detach().numpy(), rtol=1e-6)
    with flow.no_grad():
        first.layer.weight.zero_()
        first.layer.bias.fill_(3.0)
    assert second(x).tolist() == [[3.0, 3.0]] * 5
    with pytest.raises(RuntimeError, match="already"):
        second.share_from(first)


def test_what_cannot_be_shared():
    class Other(Linear):
        pass

    first = Linear()
    first.enable_shared()
    with pytest.raises(TypeError, match="Other"):
        Other().share_from(first)
    different = Linear()
    different.more = nn.Linear(1, 1)
    with pytest.raises(TypeError, match="different modules"):
        different.share_from(first)


def test_runtime_state(tmp_path):
    first = Linear()
    first.enable_save_runtime_state_dict()
    with pytest.raises(RuntimeError, match="not been called"):
        first.runtime_state_dict()
    x = flow.randn(2, 3)
    expected = first(x).numpy()
    flow.save(first.runtime_state_dict(), tmp_path / "state")
    state = flow.load(tmp_path / "state")
    second = Linear()
    second.load_runtime_state_dict(nn.Graph.runtime_state_dict_to(state, "cpu"))
    np.testing.assert_array_equal(second(x).numpy(), expected)
    with pytest.raises(TypeError, match="saved for"):
        second(flow.ones(7, 3))
    with pytest.raises(RuntimeError, match="compiled for `cpu`"):
        nn.Graph.runtime_state_dict_to(state, "cuda")
    with pytest.raises(RuntimeError, match="already"):
        first.load_runtime_state_dict(state)


class _Configured(nn.Graph):
    def __init__(self, **options):
        super().__init__(**options)

    def build(self, x):
        return x * 2


def test_options_of_genuine_graphs(capsys):
    graph = _Configured(
        enable_get_runtime_state_dict=True,
        debug_v_level=0,
        debug_ranks=[0],
        debug_max_py_stack_depth=1,
        debug_only_user_py_stack=False,
        debug_op_repr_with_py_stack=True,
    )
    assert graph(flow.ones(2)).tolist() == [2, 2]
    assert graph.name in capsys.readouterr().out
    other = nn.Graph.with_dynamic_input_shape(size=2, enable_shared=False)(_Configured)()
    other.load_runtime_state_dict(graph.runtime_state_dict(with_eager=True), warmup_with_run=False)
    assert other(flow.ones(2)).tolist() == [2, 2]
    assert capsys.readouterr().out == ""


def test_a_runtime_state_writes_no_files_elsewhere(tmp_path):
    state = {"files": {f"../{tmp_path.name}-outside": np.zeros(3, np.uint8)}}
    with pytest.raises(RuntimeError, match="no file"):
        Linear().load_runtime_state_dict(state)
    with pytest.raises(RuntimeError, match="`runtime_state_dict`"):
        Linear().load_runtime_state_dict({})


def test_modules_and_tensors_as_a_graph_shows_them():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    graph = Linear()
    graph.model = model
    block = graph.model.to(nn.graph.GraphModule)
    assert (block.name, block.name_prefix, block.stage_placement) == ("model", "", None)
    inner = graph.model[1].to(nn.graph.GraphModule)
    assert (inner.name, inner.name_prefix) == ("1", "model.")
    placement = flow.placement("cpu", [0])
    inner.set_stage(1, placement)
    assert (inner.stage_id, inner.stage_placement) == (1, placement)
    assert block[0].weight.to(flow.Tensor) is model[0].weight
    view = graph.model[0].weight.to(nn.graph.GraphTensor)
    assert view.to(flow.Tensor) is model[0].weight
    assert view.stage_placement is None
    view.set_stage(1)
    with pytest.raises(ValueError, match="`placement` of a stage must be that of the tensor"):
        view.set_stage(1, placement)


@pytest.mark.parametrize(
    "listed",
    [
        lambda model: list(model.modules()),
        lambda model: [module for _, module in model.named_modules()],
        lambda model: list(model.children()),
        lambda model: [named_child for _, named_child in model.named_children()],
        lambda model: [model.get_submodule("layers.0")],
        lambda model: list(model.layers),
        lambda model: list(model.layers[0:1]),
        lambda model: list(reversed([*model.layers])),
        lambda model: list(model.named.values()),
        lambda model: [module for _, module in model.named.items()],
        lambda model: [child for block in model.modules() for child in block.children()],
    ],
)
def test_modules_that_a_block_gives_are_blocks(listed):
    model = nn.Module()
    model.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
    model.named = nn.ModuleDict({"last": nn.Linear(2, 2)})
    graph = Linear()
    graph.model = model
    blocks, modules = listed(graph.model), listed(model)
    assert [block.origin for block in blocks] == modules != []
    for block in blocks:
        assert block.to(nn.Module) is block.origin
        block.to(nn.graph.GraphModule).set_stage(3)
        block.config.activation_checkpointing = True
    assert graph.model.layers[0] in graph.model.layers
    assert all(module.stage_id == 3 for module in listed(graph.model))
    names = [name for name, _ in graph.model.named_parameters()]
    assert names == [name for name, _ in model.named_parameters()]


def test_stages_of_a_model_and_of_its_own_parameters():
    placement = flow.placement("cpu", [0])

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset = nn.Parameter(flow.ones(2, placement=placement, sbp=flow.sbp.broadcast))
            self.layer = nn.Linear(2, 2).to_global(placement, flow.sbp.broadcast)

        def forward(self, x):
            return self.layer(x + self.offset)

    model = Model()
    graph = graph_of(lambda x: model(x), model=model)
    view = graph.model.offset.to(nn.graph.GraphTensor)
    view.set_stage(0, placement)
    assert (view.stage_id, view.stage_placement) == (0, placement)
    graph.model.layer.to(nn.graph.GraphModule).set_stage(0, placement)
    x = flow.ones(1, 2, placement=placement, sbp=flow.sbp.broadcast)
    np.testing.assert_allclose(graph(x).numpy(), model(x).numpy(), rtol=1e-6)
    for stage_id, other, error in ((-1, placement, ValueError), (0, "cpu", TypeError)):
        with pytest.raises(error):
            view.set_stage(stage_id, other)


def test_a_module_with_a_name_keeps_it():
    graph = Linear()
    graph.layer.name = "mine"
    assert (graph.layer.name, graph.layer.name_prefix) == ("mine", "")


def test_options_of_later_versions():
    graph = Linear()
    assert not graph.config.training
    assert "training=False" in repr(graph.config)
    graph.config.enable_auto_memory("Disable")
    graph.config.enable_choose_best_memory_allocation(False)
    graph.config.set_outputs_buffer_size(3)
    text = repr(graph.config)
    for option in (
        "auto_memory='Disable'",
        "choose_best_memory_allocation=False",
        "outputs_buffer_size=3",
    ):
        assert option in text
    x = flow.ones(1, 3)
    assert flow.equal(graph(x), graph.layer(x).detach())
    with pytest.raises(ValueError, match="SlightMemoryDown"):
        graph.config.enable_auto_memory("fast")
    with pytest.raises(ValueError, match="at least 1"):
        graph.config.set_outputs_buffer_size(0)
    graph = Linear()
    graph.add_optimizer(flow.optim.SGD(graph.layer.parameters()))
    assert graph.config.training


def test_the_variables_of_compiled_steps_by_their_name_in_earlier_versions():
    graph = Linear()
    names, values = graph._c_nn_graph.get_runtime_var_states()
    assert names == ["layer.weight", "layer.bias"]
    assert values[0].tolist() == graph.layer.weight.tolist()
