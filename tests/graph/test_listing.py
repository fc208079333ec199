"""State dicts, listings and debug output of graphs."""

from __future__ import annotations

import copy
import itertools
from xml.etree import ElementTree

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.base import cluster
from tests.graph.helpers import TrainGraph, graph_of


def make_graph(model=None):
    """A training graph with everything that has a state."""
    model = model or nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = flow.optim.Adam(model.parameters(), lr=0.1)
    schedule = flow.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    graph = TrainGraph(model, lambda m, x: (m(x) ** 2).mean(), optimizer, schedule)
    graph.offset = flow.zeros(2)
    graph.set_grad_scaler(flow.amp.GradScaler(growth_interval=2))
    return graph


def test_a_graph_goes_on_from_a_state_dict(tmp_path):
    graph = make_graph()
    batches = [flow.randn(4, 3) for _ in range(6)]
    for x in batches[:3]:
        graph(x)
    state = copy.deepcopy(graph.state_dict())
    parts = {"module", "offset", "optimizer.0", "lr_scheduler.0", "scaler.0"}
    assert set(state) == {*parts, "System-Train-TrainStep"}
    assert state["System-Train-TrainStep"].tolist() == [3]
    assert set(state["module"]) == set(graph.module.state_dict())
    flow.save(state, tmp_path / "state")
    expected = [graph(x).item() for x in batches[3:]]

    other = make_graph()
    other.load_state_dict(flow.load(tmp_path / "state"))
    assert [other(x).item() for x in batches[3:]] == expected
    with pytest.raises(RuntimeError, match="before its first call"):
        other.load_state_dict(state)


def test_names_in_a_state_dict_have_to_fit():
    state = make_graph().state_dict()
    del state["offset"]
    state["more"] = state["module"]
    graph = make_graph()
    with pytest.raises(RuntimeError, match=r"missing \['offset'\], unexpected \['more'\]"):
        graph.load_state_dict(state)
    graph.load_state_dict(state, strict=False)
    destination = {"mine": 1}
    assert graph.state_dict(destination) is destination
    assert "module" in destination


def test_names_are_numbered():
    first, second = make_graph(), make_graph()
    assert first.name.startswith("TrainGraph_")
    assert int(second.name.split("_")[1]) == int(first.name.split("_")[1]) + 1


def test_the_tree_grows_with_the_first_call():
    graph = make_graph()
    before = repr(graph)
    assert "(MODULE:module.0:Linear(in_features=3, out_features=4, bias=True)): (" in before
    assert (
        "(PARAMETER:module.0.weight:tensor(size=(4, 3), dtype=oneflow.float32, "
        "device=cpu:0, requires_grad=True))" in before
    )
    assert "(BUFFER:module.1.running_mean:" in before
    assert "INPUT" not in before
    assert "OUTPUT" not in before
    graph(flow.ones(2, 3))
    after = repr(graph)
    name = graph.name
    assert f"(INPUT:{name}.0:tensor(size=(2, 3), dtype=oneflow.float32, device=cpu:0))" in after
    assert "(INPUT:module.2.0:tensor(size=(2, 4), " in after
    assert "(OUTPUT:module.2.0:tensor(size=(2, 1), " in after
    assert f"(OUTPUT:{name}.0:tensor(size=(), dtype=oneflow.float32" in after
    assert "(OPTIMIZER:0:Adam)" in after
    assert after.count("(") == after.count(")")


def make_inference_graph():
    """A graph that is quickly compiled."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    return graph_of(lambda x: model(x), module=model)


def output_of(graph, capsys, *levels, **options):
    """The output of the first call."""
    if levels:
        graph.debug(*levels, **options)
    capsys.readouterr()
    graph(flow.ones(2, 3))
    return capsys.readouterr().out


def test_every_debug_level_tells_more(capsys):
    texts = [output_of(make_inference_graph(), capsys, level) for level in (-1, 0, 1, 2, 3)]
    assert texts[0] == ""
    assert all(len(a) < len(b) for a, b in itertools.pairwise(texts))
    assert "start building" in texts[1]
    assert "MODULE" not in texts[1]
    assert "(MODULE:module.0:Linear)" in texts[2]
    assert "(OPERATOR:module.0:linear) float32[2,3]" in texts[3]
    assert "test_listing.py" in texts[4]
    assert output_of(make_inference_graph(), capsys) == ""


def test_debugging_one_module(capsys):
    graph = make_inference_graph()
    graph.module[0].debug(1)
    text = output_of(graph, capsys)
    assert "(MODULE:module.0:Linear)" in text
    assert "module.1" not in text
    graph = make_inference_graph()
    graph.module[0].debug(1, ranks=[3])
    assert "MODULE" not in output_of(graph, capsys)


def test_ranks_that_print(capsys, monkeypatch):
    monkeypatch.setattr(cluster, "_membership", cluster.Membership(rank=1, world_size=2))
    assert output_of(make_inference_graph(), capsys, 1) == ""
    assert output_of(make_inference_graph(), capsys, 1, ranks=-1) != ""
    assert output_of(make_inference_graph(), capsys, 1, ranks=[0, 1], max_py_stack_depth=1) != ""
    with pytest.raises(ValueError, match="v_level"):
        make_inference_graph().debug(4)
    with pytest.raises(ValueError, match="`ranks` must be"):
        make_inference_graph().debug(1, ranks="all")
    with pytest.raises(ValueError, match="`max_py_stack_depth` must be"):
        make_inference_graph().debug(3, max_py_stack_depth=-1)
    graph = make_inference_graph()
    graph(flow.ones(2, 3))
    with pytest.warns(UserWarning, match="built already"):
        graph.debug(1)


def test_programs_name_the_modules_that_recorded_them():
    graph = make_graph()
    graph(flow.ones(2, 3))
    (step,) = graph._steps.values()
    scopes = {
        instruction.operation.primitive.name: instruction.scope
        for instruction in step.executable.program.instructions
    }
    assert scopes["moments"] == "module.1"
    assert scopes["adam_update"] == ""


def test_a_forward_of_an_object_stays():
    model = nn.Linear(2, 2)
    model.forward = lambda x: x * 3
    graph = graph_of(lambda x: model(x), model=model)
    assert graph(flow.ones(1, 2)).tolist() == [[3.0, 3.0]]
    assert "forward" in vars(model)
    other = nn.Linear(2, 2)
    graph_of(lambda x: other(x), model=other)(flow.ones(1, 2))
    assert "forward" not in vars(other)


def test_a_picture(tmp_path):
    graph = make_graph()
    with pytest.raises(RuntimeError, match="nothing to draw"):
        graph.draw(tmp_path / "g.svg")
    graph(flow.ones(2, 3))
    graph.draw(tmp_path / "g.svg")
    root = ElementTree.parse(tmp_path / "g.svg").getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for title in ("arguments", "module.0", "module.1", "module.2", "results", "float32[2,3]"):
        assert title in texts
    with pytest.raises(ValueError, match="drawn as SVG"):
        graph.draw(tmp_path / "g.png")
    boxes = [element.attrib for element in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert len({(box["x"], box["y"]) for box in boxes}) == len(boxes)
    assert all(int(box["x"]) + int(box["width"]) <= int(root.attrib["width"]) for box in boxes)


def test_dumps_of_passes_that_do_not_exist(capsys, monkeypatch):
    monkeypatch.setenv("ONEFLOW_DEBUG_PASS", "dead_code, dead_cod")
    with pytest.warns(UserWarning, match="there is no pass dead_cod; choose among .*dead_code"):
        graph_of(lambda x: x + 1)(flow.ones(1))
    assert "before dead_code" in capsys.readouterr().err
