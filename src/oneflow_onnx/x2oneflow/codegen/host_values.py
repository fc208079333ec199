"""Names of values that execution keeps on the host, and that plain operators must not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oneflow_onnx.x2oneflow.plan import Plan, Step
from oneflow_onnx.x2oneflow.registry import Evaluation
from oneflow_onnx.x2oneflow.trainable import Kind, classify


def host_names(plan: Plan, names: Iterable[str]) -> frozenset[str]:
    """Return the names of values on the host in a graph, given those of some."""
    host = set(names)
    for step in plan.steps:
        if list(step.plans()):
            host.update(_results_of_subgraphs(step, host))
        elif _stays_on_host(step, host):
            host.update(step.node.output)
    return frozenset(host)


def inner_host_names(step: Step, plan: Plan, host: Iterable[str]) -> frozenset[str]:
    """Return the names of values on the host in a subgraph of a step, or in its function."""
    constants = [name for name, kind in classify(plan).items() if kind is Kind.CONSTANT]
    names = {*host, *_host_inputs(step, plan, host), *constants}
    while True:
        inside = host_names(plan, names)
        returning = {before for before, after in _carried(step, plan) if after in inside} - names
        if not returning:
            return inside
        names |= returning


def _results_of_subgraphs(step: Step, host: Iterable[str]) -> Iterator[str]:
    for plan in step.plans():
        inside = inner_host_names(step, plan, host)
        # The first result of a loop's body is its condition.
        results = plan.outputs[1:] if step.node.op_type == "Loop" else plan.outputs
        names = zip(step.node.output, results, strict=False)
        yield from (name for name, result in names if result in inside)


def _host_inputs(step: Step, plan: Plan, host: Iterable[str]) -> set[str]:
    """The inputs of a subgraph or function that are on the host, before anything was carried."""
    outer_names = set(host)
    pairs = zip(plan.inputs, step.node.input, strict=False)
    names = {inner for inner, outer in pairs if outer in outer_names}
    # The number of the step, and the condition.
    return names | set(plan.inputs[:2]) if step.node.op_type == "Loop" else names


def _carried(step: Step, plan: Plan) -> list[tuple[str, str]]:
    """The inputs of a loop's body with the results that take their place in the next step."""
    if step.node.op_type == "Loop":
        return list(zip(plan.inputs[2:], plan.outputs[1:], strict=False))
    if step.node.op_type == "Scan":
        count = len(step.node.input) - step.attributes["num_scan_inputs"]
        return list(zip(plan.inputs[:count], plan.outputs, strict=False))
    return []


def _stays_on_host(step: Step, host: set[str]) -> bool:
    if step.operator is None:
        return False
    if step.node.op_type in ("Shape", "Size", "ConstantOfShape", "Range", "SequenceLength"):
        return True
    inputs = [name for name in step.node.input if name]
    folds = step.operator.evaluation is Evaluation.FOLDED or step.node.op_type in (
        "Identity",
        "Cast",
        "CastLike",
    )
    return bool(inputs) and folds and host.issuperset(inputs)
