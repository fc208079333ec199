"""Names of values that execution keeps on the host, and that plain operators must not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oneflow_onnx.x2oneflow.prepared_graph import NodeCall, PreparedGraph
from oneflow_onnx.x2oneflow.registry import Evaluation
from oneflow_onnx.x2oneflow.trainable import InitializerKind, classify


def host_names(prepared: PreparedGraph, names: Iterable[str]) -> frozenset[str]:
    """Return the names of values on the host in a graph, given the names of some."""
    host = set(names)
    for call in prepared.calls:
        if list(call.inner_graphs()):
            host.update(_results_of_subgraphs(call, host))
        elif _is_on_host(call, host):
            host.update(call.node.output)
    return frozenset(host)


def inner_host_names(
    call: NodeCall, prepared: PreparedGraph, host: Iterable[str]
) -> frozenset[str]:
    """Return the names of values on the host in a subgraph of a call, or in its function."""
    constants = [
        name for name, kind in classify(prepared).items() if kind is InitializerKind.CONSTANT
    ]
    names = {*host, *_host_inputs(call, prepared, host), *constants}
    while True:
        inside = host_names(prepared, names)
        on_host = {before for before, after in _carried(call, prepared) if after in inside} - names
        if not on_host:
            return inside
        names |= on_host


def _results_of_subgraphs(call: NodeCall, host: Iterable[str]) -> Iterator[str]:
    for prepared in call.inner_graphs():
        inside = inner_host_names(call, prepared, host)
        # The first result of a loop's body is its condition.
        results = prepared.outputs[1:] if call.node.op_type == "Loop" else prepared.outputs
        names = zip(call.node.output, results, strict=False)
        yield from (name for name, result in names if result in inside)


def _host_inputs(call: NodeCall, prepared: PreparedGraph, host: Iterable[str]) -> set[str]:
    """The inputs of a subgraph or function that are on the host, before anything was carried."""
    outer_names = set(host)
    pairs = zip(prepared.inputs, call.node.input, strict=False)
    names = {inner for inner, outer in pairs if outer in outer_names}
    # The number of the step, and the condition.
    return names | set(prepared.inputs[:2]) if call.node.op_type == "Loop" else names


def _carried(call: NodeCall, prepared: PreparedGraph) -> list[tuple[str, str]]:
    """The inputs of a loop's body with the results that take their place in the next step."""
    if call.node.op_type == "Loop":
        return list(zip(prepared.inputs[2:], prepared.outputs[1:], strict=False))
    if call.node.op_type == "Scan":
        count = len(call.node.input) - call.attributes["num_scan_inputs"]
        return list(zip(prepared.inputs[:count], prepared.outputs, strict=False))
    return []


def _is_on_host(call: NodeCall, host: set[str]) -> bool:
    if call.operator is None:
        return False
    if call.node.op_type in ("Shape", "Size", "ConstantOfShape", "Range", "SequenceLength"):
        return True
    inputs = [name for name in call.node.input if name]
    folds = call.operator.evaluation is Evaluation.FOLDED or call.node.op_type in (
        "Identity",
        "Cast",
        "CastLike",
    )
    return bool(inputs) and folds and host.issuperset(inputs)
