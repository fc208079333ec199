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
from oneflow_onnx.x2oneflow.plan import Plan, Planner, Step

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
    plan = Planner(model).plan_model()
    inputs = [name for name in plan.inputs if name not in plan.constants]
    body = _body(plan, Source.of(model, plan), inputs)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: np.ascontiguousarray(array) for name, array in body.state.items()},
        target / "weights.safetensors",
    )
    path = target / "model.py"
    path.write_text(Text(body, plan).written(), encoding="utf8")
    return path


def _body(plan: Plan, source: Source, inputs: Sequence[str]) -> Body:
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

    for step in plan.steps:
        if source.done >= set(step.node.output):
            continue
        line = _with_subgraphs(step, source) if list(step.plans()) else _line(step, source)
        for name in line.inputs:
            load(name)
        lines.append(line)
    for name in plan.outputs:
        load(name)
    lines = with_biases(_needed(lines, plan.outputs), source.uses)
    return grouped(lines, inputs, plan.outputs)


def _needed(lines: list[Line], outputs: list[str]) -> list[Line]:
    """Return the lines whose results are read."""
    read = set(outputs)
    read_lines = []
    for line in reversed(lines):
        if read.intersection(line.outputs):
            read.update(line.inputs)
            read_lines.append(line)
    return read_lines[::-1]


def _line(step: Step, source: Source) -> Line:
    """Return the line of a step: its operator's template, or a call."""
    template = TEMPLATES.get(step.node.op_type) if not step.node.domain else None
    line = template(step, source) if template and step.operator else None
    if line is not None and not source.host.intersection(line.inputs):
        return line
    inputs, layers = [], []
    operands = _operands(step.node.input, source, inputs, layers)
    arguments = [literal(step.node.op_type), str(step.opset), *operands]
    if step.node.domain:
        arguments.append(f"domain={literal(step.node.domain)}")
    if len(step.node.output) > 1:
        arguments.append(f"outputs={len(step.node.output)}")
    arguments += [keyword_argument(name, value) for name, value in step.attributes.items()]
    text = f"call({', '.join(arguments)})"
    return Line(tuple(step.node.output), tuple(inputs), text, tuple(layers))


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
        elif source.alone(name):
            operands.append(f"{{layer{len(layers)}}}")
            layers.append(source.stored(name))
        else:
            operands.append(f"{{{len(inputs)}}}")
            inputs.append(name)
    return operands


def _with_subgraphs(step: Step, source: Source) -> Line:
    """Return the line of a branch, a loop, or a call of a function of the model."""
    is_if = step.body is None and step.node.op_type == "If"
    if step.body is None and step.node.op_type not in ("If", "Loop", "Scan"):
        raise NotImplementedError(
            f"code for {step.label}, which has subgraphs; import the model with `from_onnx`"
        )
    kind = "function" if step.body else "branch" if is_if else "body"
    plans = [step.attributes[name] for name in _BRANCHES] if is_if else list(step.plans())
    around = [sorted(plan.free_names() - source.constants.keys()) for plan in plans]
    layers: list[Called] = [
        Part(kind, _body(plan, source.inside(step, plan), [*plan.inputs, *free]))
        for plan, free in zip(plans, around, strict=True)
    ]
    inputs: list[str] = []
    operands = _operands(step.node.input, source, inputs, layers)
    free = [", ".join(_operands(names, source, inputs, layers)) for names in around]
    outputs = list(step.node.output)
    if step.body is not None:
        missing = ["None"] * (len(step.body.inputs) - len(operands))
        text = f"{{layer0}}({', '.join(operands + missing)})"
    elif is_if:
        text = f"{{layer0}}({free[0]}) if {operands[0]} else {{layer1}}({free[1]})"
    else:
        results = len(plans[0].outputs) - (step.node.op_type == "Loop")
        outputs += [""] * (results - len(outputs))
        text = _loop(step, operands, free[0], results)
    return Line(tuple(outputs), tuple(inputs), text, tuple(layers))


def _loop(step: Step, operands: list[str], around: str, results: int) -> str:
    """The expression of a Loop or a Scan, whose body is the first layer."""
    if step.node.op_type == "Loop":
        trips, condition, *carried = [*operands, *["None"] * (2 - len(operands))]
        count, arguments = len(carried), [trips, condition, f"[{', '.join(carried)}]"]
    else:
        if step.opset < 9:
            raise NotImplementedError(
                f"code for {step.label} of operator set {step.opset}; import the model with "
                "`from_onnx`, or convert it to a later set"
            )
        count = len(operands) - step.attributes["num_scan_inputs"]
        arguments = [f"[{', '.join(names)}]" for names in (operands[:count], operands[count:])]
    arguments += [f"around=[{around}]"] if around else []
    arguments += [f"rows={results - count}"] if results > count else []
    arguments += [
        keyword_argument(name, value)
        for name, value in step.attributes.items()
        if name.startswith("scan_")
    ]
    return f"{step.node.op_type.lower()}({', '.join(['{layer0}', *arguments])})"
