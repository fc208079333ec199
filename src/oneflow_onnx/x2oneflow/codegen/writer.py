"""`write_code`: a model as a Python file and its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from safetensors.numpy import save_file

import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow_onnx.x2oneflow.codegen.grouping import grouped
from oneflow_onnx.x2oneflow.codegen.lines import Line
from oneflow_onnx.x2oneflow.codegen.source import Source, array_literal, is_short
from oneflow_onnx.x2oneflow.codegen.structure import Body
from oneflow_onnx.x2oneflow.codegen.templates import TEMPLATES, with_biases
from oneflow_onnx.x2oneflow.codegen.text import Text
from oneflow_onnx.x2oneflow.files import load_model
from oneflow_onnx.x2oneflow.plan import Plan, Planner, Step


def write_code(source: onnx.ModelProto | bytes | str | Path, folder: str | Path) -> Path:
    """Write ``model.py`` and ``weights.safetensors`` for an ONNX model into `folder`.

    ``model.py`` has a class for every block that repeats, `Model` for the whole, and `load`, which
    returns the model with its weights.

    Returns:
        The path of ``model.py``.

    Raises:
        NotImplementedError: the model has subgraphs, or operators that are not supported.
        ValueError: the model is broken.
    """
    model = load_model(source)
    plan = Planner(model).plan_model(model.graph)
    body = _body(plan, Source.of(model, plan))
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: np.ascontiguousarray(array) for name, array in body.state.items()},
        target / "weights.safetensors",
    )
    path = target / "model.py"
    path.write_text(Text(body, plan).written(), encoding="utf8")
    return path


def _body(plan: Plan, source: Source) -> Body:
    subgraphs = [step.label for step in plan.steps if list(step.plans())]
    if subgraphs:
        raise NotImplementedError(
            f"code for subgraphs and functions of the model: {', '.join(subgraphs)}; import the"
            " model with `from_onnx` instead"
        )
    lines: list[Line] = []
    loaded: set[str] = set()

    def load(name: str) -> None:
        """Write a line that reads a parameter which several lines, or no layer, use."""
        if name in source.state and name not in loaded:
            loaded.add(name)
            lines.append(Line((name,), (), "{layer0}", (source.stored(name),)))
        elif name in source.constants and name not in loaded:
            loaded.add(name)
            lines.append(Line((name,), (), array_literal(source.constants[name])))

    for step in plan.steps:
        if source.done >= set(step.node.output):
            continue
        line = _line(step, source)
        for name in line.inputs:
            load(name)
        lines.append(line)
    for name in plan.outputs:
        load(name)
    inputs = [name for name in plan.inputs if name not in plan.constants]
    lines = with_biases(_needed(lines, plan.outputs), source.uses)
    return grouped(lines, inputs, plan.outputs)


def _needed(lines: list[Line], outputs: list[str]) -> list[Line]:
    """Return the lines whose results are read."""
    read = set(outputs)
    kept = []
    for line in reversed(lines):
        if read.intersection(line.outputs):
            read.update(line.inputs)
            kept.append(line)
    return kept[::-1]


def _line(step: Step, source: Source) -> Line:
    """Return the line of a step: its operator's template, or a call."""
    template = TEMPLATES.get(step.node.op_type) if not step.node.domain else None
    line = template(step, source) if template and step.operator else None
    if line is not None and not source.host.intersection(line.inputs):
        return line
    operands, inputs, layers = [], [], []
    for name in step.node.input:
        constant = source.constants.get(name)
        if not name:
            operands.append("None")
        elif constant is not None and is_short(constant):
            operands.append(array_literal(constant).replace("{", "{{").replace("}", "}}"))
        elif source.alone(name):
            operands.append(f"{{layer{len(layers)}}}")
            layers.append(source.stored(name))
        else:
            operands.append(f"{{{len(inputs)}}}")
            inputs.append(name)
    arguments = [f'"{step.node.op_type}"', str(step.opset), *operands]
    if step.node.domain:
        arguments.append(f"domain={step.node.domain!r}")
    if len(step.node.output) > 1:
        arguments.append(f"outputs={len(step.node.output)}")
    arguments += [f"{name}={_literal(value)}" for name, value in step.attributes.items()]
    text = f"call({', '.join(arguments)})"
    return Line(tuple(step.node.output), tuple(inputs), text, tuple(layers))


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return array_literal(value)
    if isinstance(value, float):
        return str(np.float32(value))
    if isinstance(value, list) and value and isinstance(value[0], float):
        return f"[{', '.join(str(np.float32(v)) for v in value)}]"
    return repr(value).replace("{", "{{").replace("}", "}}")
