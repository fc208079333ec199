"""``info``: the contents of an ONNX file, as text and as a picture."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import onnx_ir as ir

from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.graph.render_graph import FigureBox, GraphFigure, image_path
from oneflow_onnx.commands.subcommand import Subcommand, show

# A picture of more boxes is no picture.
_MAX_BOXES = 2000


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="an ONNX file")
    parser.add_argument("--svg", type=Path, metavar="OUT.svg", help="draw the graph, too")


def _run(options: argparse.Namespace) -> int:
    if not options.file.is_file():
        raise FileNotFoundError(f"there is no file {options.file}")
    try:
        model = ir.load(options.file)
    except Exception as error:
        raise ValueError(f"`{options.file}` is no ONNX model: {error}") from error
    show(describe(model))
    if options.svg is not None:
        with atomic_write(image_path(options.svg)) as file:
            file.write(figure_of(model).render().encode())
    return 0


def describe(model: ir.Model) -> str:
    """Return the contents of a model as text."""
    graph = model.graph
    weights = [
        initializer.const_value
        for initializer in graph.initializers.values()
        if initializer.const_value
    ]
    opsets = ", ".join(f"{domain or 'ai.onnx'} {n}" for domain, n in graph.opset_imports.items())
    operators = Counter(node.op_type for node in graph)
    lines = [
        f"graph {graph.name or '(no name)'}, by {model.producer_name or 'an unknown program'}",
        f"opsets: {opsets}; IR version {model.ir_version}",
        *[f"input  {_typed(input_)}" for input_ in graph.inputs],
        *[f"output {_typed(output)}" for output in graph.outputs],
        f"{len(weights)} weights, {sum(weight.size for weight in weights):,} numbers, "
        f"{sum(weight.nbytes for weight in weights):,} bytes",
        f"{sum(operators.values())} nodes:",
        *[f"  {count:5} {name}" for name, count in operators.most_common()],
    ]
    return "\n".join(lines)


def _typed(value: ir.Value) -> str:
    shape = "?" if value.shape is None else ", ".join(str(dim) for dim in value.shape)
    return f"{value.name}: {value.dtype}[{shape}]"


def figure_of(model: ir.Model) -> GraphFigure:
    """Return the picture of a model's graph: a box per node, edges where values flow.

    Raises:
        ValueError: there are too many nodes.
    """
    nodes = [node for node in model.graph if node.op_type != "Constant"]
    if len(nodes) > _MAX_BOXES:
        raise ValueError(f"the graph has {len(nodes)} nodes; at most {_MAX_BOXES} are drawn")
    figure, producer_names = GraphFigure(), {}
    for value in model.graph.inputs:
        figure.boxes[f"input {value.name}"] = FigureBox(_typed(value), end=True)
        producer_names[value] = f"input {value.name}"
    for place, node in enumerate(nodes):
        name = f"node {place}"
        figure.boxes[name] = FigureBox(node.op_type, node.name or "")
        figure.edges.update(
            (producer_names[input_], name) for input_ in node.inputs if input_ in producer_names
        )
        producer_names.update(dict.fromkeys(node.outputs, name))
    for value in model.graph.outputs:
        name = f"output {value.name}"
        figure.boxes[name] = FigureBox(_typed(value), end=True)
        if value in producer_names:
            figure.edges.add((producer_names[value], name))
    return figure


INFO = Subcommand("info", "list what is in a file, and draw it", _add_arguments, _run)
