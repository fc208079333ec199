"""Documents and terminals show the names in files and models, and never obey them."""

from __future__ import annotations

from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import onnx
import onnx_ir as ir
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.graph.render_graph import FigureBox, GraphFigure
from oneflow.plan import plan_graph, planning
from oneflow.plan.page import page_of
from oneflow_onnx.command import main
from oneflow_onnx.commands.info import figure_of
from tests.onnx.models import parsed

HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "]]></style></text><script/>&lt;",
    "\x1b]0;title\x07\x1b[2J\x00\x85\u202e",
)


class Elements(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, *(name for name, _ in attrs)))


def onnx_picture(name):
    model = parsed("g (float[n] x) => (float[n] y) { y = Relu(x) }")
    model.graph.name = model.graph.node[0].name = name
    for value in (model.graph.input[0], model.graph.output[0]):
        value.name = name + value.name
        value.type.tensor_type.shape.dim[0].dim_param = name
    model.graph.node[0].input[0] = model.graph.input[0].name
    model.graph.node[0].output[0] = model.graph.output[0].name
    return figure_of(ir.from_proto(model)).render()


def graph_picture(name):
    return GraphFigure({"a": FigureBox(name, name), "b": FigureBox(name, end=True)}).render()


def plan_page(name):
    class Planned(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = nn.Sequential()
            self.model.add_module(f"x{name.replace('.', '')}", nn.Linear(4, 4))
            self.model.to_global(flow.placement("cuda", [0, 1]), flow.sbp.broadcast)

        def build(self, x):
            return self.model(x)

    Planned.__name__ = name.replace("\0", "")
    with planning():
        x = flow.ones(4, 4, placement=flow.placement("cuda", [0, 1]), sbp=flow.sbp.split(0))
        return page_of(plan_graph(Planned(), x, compile=False).contents)


def status_page(name):
    page = pytest.importorskip("oneflow.serving.status_page")
    statistics = pytest.importorskip("oneflow.serving.statistics")
    found = statistics.Statistics()
    model = SimpleNamespace(name=name, version=1, waiting=0, statistics=found)
    failed = SimpleNamespace(name=name, version="2", reason=name)
    return page.status_page(SimpleNamespace(versions=lambda: [model], index=lambda: [failed]))


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("make", [onnx_picture, graph_picture, plan_page, status_page])
def test_names_add_no_elements(make, name):
    page = make(name)
    assert Elements(page).found == Elements(make("harmless")).found
    if make in (onnx_picture, graph_picture):
        ElementTree.fromstring(page)


@pytest.mark.parametrize("name", HOSTILE)
def test_terminals_do_not_obey_names(name, tmp_path, capsys):
    model = parsed("g (float[n] x) => (float[n] y) { y = Relu(x) }")
    model.graph.name = model.producer_name = name
    model.graph.input[0].name = model.graph.node[0].input[0] = name
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    for command in ("info", "import", "check"):
        main([command, str(path)])
    model.graph.node[0].op_type = name
    onnx.save(model, path)
    assert main(["import", str(path)]) == 1
    captured = capsys.readouterr()
    assert len(captured.out) > 100
    assert captured.err.strip()
    assert all(letter.isprintable() or letter == "\n" for letter in captured.out + captured.err)
