"""`write_code`: a model as a Python file and its weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import onnx
from safetensors.numpy import save_file

import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow_onnx.x2oneflow.codegen.grouping import grouped
from oneflow_onnx.x2oneflow.codegen.lines import Called, Line
from oneflow_onnx.x2oneflow.codegen.literals import is_short, keyword_argument, literal
from oneflow_onnx.x2oneflow.codegen.source import Source
from oneflow_onnx.x2oneflow.codegen.structure import Body, Part
from oneflow_onnx.x2oneflow.codegen.templates import TEMPLATES, with_biases
from oneflow_onnx.x2oneflow.codegen.text import Text
from oneflow_onnx.x2oneflow.files import load_model
from oneflow_onnx.x2oneflow.prepared_graph import GraphPreparer, NodeCall, PreparedGraph

_BRANCHES = ("then_branch", "else_branch")


def write_code(source: onnx.ModelProto | bytes | str | Path, folder: str | Path) -> Path:
    """Write ``model.py`` and ``weights.safetensors`` for an ONNX model into `folder`.

    ``model.py`` has a class for every block that repeats, `Model` for the whole, and `load`, which
    returns the model with its weights.

    Returns:
        The path of ``model.py``.

    Raises:
        NotImplementedError: operators are not supported; of subgraphs, Scan before operator set 9.
        ValueError: the model is broken.
    """
    model = load_model(source)
    prepared = GraphPreparer(model).prepare_model()
    inputs = [name for name in prepared.inputs if name not in prepared.constants]
    body = _body(prepared, Source.of(model, prepared), inputs)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: np.ascontiguousarray(array) for name, array in body.state.items()},
        target / "weights.safetensors",
    )
    path = target / "model.py"
    path.write_text(Text(body, prepared).written(), encoding="utf8")
    return path


def _body(prepared: PreparedGraph, source: Source, inputs: Sequence[str]) -> Body:
    lines: list[Line] = []
    loaded: set[str] = set()

    def load(name: str) -> None:
        """Write a line that reads a parameter which several lines, or no layer, use."""
        if name in source.state and name not in loaded:
            loaded.add(name)
            lines.append(Line((name,), (), "{layer0}", (source.stored(name),)))
        elif name in source.constants and name not in loaded:
            loaded.add(name)
            lines.append(Line((name,), (), literal(source.constants[name])))

    for call in prepared.calls:
        if source.done >= set(call.node.output):
            continue
        line = _with_subgraphs(call, source) if list(call.inner_graphs()) else _line(call, source)
        for name in line.inputs:
            load(name)
        lines.append(line)
    for name in prepared.outputs:
        load(name)
    lines = with_biases(_needed(lines, prepared.outputs), source.uses)
    return grouped(lines, inputs, prepared.outputs)


def _needed(lines: list[Line], outputs: list[str]) -> list[Line]:
    """Return the lines whose results are read."""
    read = set(outputs)
    read_lines = []
    for line in reversed(lines):
        if read.intersection(line.outputs):
            read.update(line.inputs)
            read_lines.append(line)
    return read_lines[::-1]


def _line(call: NodeCall, source: Source) -> Line:
    """Return the line of a node: its operator's template, or a call."""
    template = TEMPLATES.get(call.node.op_type) if not call.node.domain else None
    line = template(call, source) if template and call.operator else None
    if line is not None and not source.host.intersection(line.inputs):
        return line
    inputs, layers = [], []
    operands = _operands(call.node.input, source, inputs, layers)
    arguments = [literal(call.node.op_type), str(call.opset), *operands]
    if call.node.domain:
        arguments.append(f"domain={literal(call.node.domain)}")
    if len(call.node.output) > 1:
        arguments.append(f"outputs={len(call.node.output)}")
    arguments += [keyword_argument(name, value) for name, value in call.attributes.items()]
    text = f"call({', '.join(arguments)})"
    return Line(tuple(call.node.output), tuple(inputs), text, tuple(layers))


def _operands(
    names: Iterable[str], source: Source, inputs: list[str], layers: list[Called]
) -> list[str]:
    """Return expressions for operands; what they read is added to `inputs` and `layers`."""
    operands = []
    for name in names:
        constant = source.constants.get(name)
        if not name:
            operands.append("None")
        elif constant is not None and is_short(constant):
            operands.append(literal(constant))
        elif source.is_exclusive(name):
            operands.append(f"{{layer{len(layers)}}}")
            layers.append(source.stored(name))
        else:
            operands.append(f"{{{len(inputs)}}}")
            inputs.append(name)
    return operands


def _with_subgraphs(call: NodeCall, source: Source) -> Line:
    """Return the line of a branch, a loop, or a call of a function of the model."""
    is_if = call.body is None and call.node.op_type == "If"
    if call.body is None and call.node.op_type not in ("If", "Loop", "Scan"):
        raise NotImplementedError(
            f"code for {call.label}, which has subgraphs; import the model with `from_onnx`"
        )
    kind = "function" if call.body else "branch" if is_if else "body"
    inner_graphs = (
        [call.attributes[name] for name in _BRANCHES] if is_if else list(call.inner_graphs())
    )
    around = [sorted(prepared.free_names() - source.constants.keys()) for prepared in inner_graphs]
    layers: list[Called] = [
        Part(kind, _body(prepared, source.inside(call, prepared), [*prepared.inputs, *free]))
        for prepared, free in zip(inner_graphs, around, strict=True)
    ]
    inputs: list[str] = []
    operands = _operands(call.node.input, source, inputs, layers)
    free = [", ".join(_operands(names, source, inputs, layers)) for names in around]
    outputs = list(call.node.output)
    if call.body is not None:
        missing = ["None"] * (len(call.body.inputs) - len(operands))
        text = f"{{layer0}}({', '.join(operands + missing)})"
    elif is_if:
        text = f"{{layer0}}({free[0]}) if {operands[0]} else {{layer1}}({free[1]})"
    else:
        results = len(inner_graphs[0].outputs) - (call.node.op_type == "Loop")
        outputs += [""] * (results - len(outputs))
        text = _loop(call, operands, free[0], results)
    return Line(tuple(outputs), tuple(inputs), text, tuple(layers))


def _loop(call: NodeCall, operands: list[str], around: str, results: int) -> str:
    """The expression of a Loop or a Scan, whose body is the first layer."""
    if call.node.op_type == "Loop":
        trips, condition, *carried = [*operands, *["None"] * (2 - len(operands))]
        count, arguments = len(carried), [trips, condition, f"[{', '.join(carried)}]"]
    else:
        if call.opset < 9:
            raise NotImplementedError(
                f"code for {call.label} of operator set {call.opset}; import the model with "
                "`from_onnx`, or convert it to a later set"
            )
        count = len(operands) - call.attributes["num_scan_inputs"]
        arguments = [f"[{', '.join(names)}]" for names in (operands[:count], operands[count:])]
    arguments += [f"around=[{around}]"] if around else []
    arguments += [f"rows={results - count}"] if results > count else []
    arguments += [
        keyword_argument(name, value)
        for name, value in call.attributes.items()
        if name.startswith("scan_")
    ]
    return f"{call.node.op_type.lower()}({', '.join(['{layer0}', *arguments])})"
