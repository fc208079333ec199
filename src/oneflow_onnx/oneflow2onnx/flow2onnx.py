"""The functions below `oneflow_onnx.oneflow2onnx.util`: the export, and stages of it to look at."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

import oneflow as flow
from oneflow.graph.graph import Graph
from oneflow.legacy.job import JobFunction
from oneflow_onnx.oneflow2onnx.builder import UNSUPPORTED_DOMAIN
from oneflow_onnx.oneflow2onnx.capturing import compiled_arguments, exported_model
from oneflow_onnx.oneflow2onnx.exporting import (
    ExportOptions,
    argument_names,
    export_model,
    input_names,
    recorded_captures,
)
from oneflow_onnx.oneflow2onnx.files import write_model
from oneflow_onnx.oneflow2onnx.handler import HandlerEntry, ordered, registered_handlers
from oneflow_onnx.oneflow2onnx.onnx_wrapper import Graph as WrappedGraph, Node
from oneflow_onnx.oneflow2onnx.reference import onnx_type
from oneflow_onnx.oneflow2onnx.sizes import require_static
from oneflow_onnx.oneflow2onnx.trace import merged_trace

_LOGGER = logging.getLogger(__name__)


def Export(
    graph: Any,
    model_save_dir: str | os.PathLike[str] | None,
    onnx_filename: str | os.PathLike[str],
    continue_on_error: bool = False,
    opset: int | None = None,
    extra_opset: Any = None,
    shape_override: Mapping[str, Sequence[int]] | None = None,
    external_data: bool = False,
    dynamic_batch_size: bool = False,
) -> None:
    """Write a graph that was called before to an ONNX file.

    Args:
        graph: an `nn.Graph`, or a job function.
        model_save_dir: a folder that ``flow.save(graph.state_dict(), folder)`` made, or
            ``flow.checkpoint.save(folder)`` for jobs, whose weights are taken; None: those that the
            graph has.
        onnx_filename: the file.
        continue_on_error: write operators that ONNX does not have as nodes of the domain
            ``oneflow``, which no runtime knows, and warn of them, instead of raising.
        opset: the opset; None: 10, or the lowest that can express the graph.
        extra_opset: further domains that handlers use, as `onnx.helper.make_opsetid` gives them.
        shape_override: other shapes of inputs, by name.
        external_data: store weights in a file of their own.
        dynamic_batch_size: dimension 0 of the first input is symbolic.

    Raises:
        UnsupportedOperatorsError: operators that ONNX cannot express; lists all of them.
        RuntimeError: the graph was never called.
        AssertionError: the environment says ``ENABLE_USER_OP=False``, which OneFlow 0.3 could not
            export with.
    """
    if os.environ.get("ENABLE_USER_OP") == "False":
        raise AssertionError("the environment variable `ENABLE_USER_OP` must not be False")
    model = ProcessFlowGraph(
        graph,
        model_save_dir,
        continue_on_error,
        opset,
        extra_opset,
        shape_override,
        dynamic_batch_size=dynamic_batch_size,
    )
    write_model(model.model, onnx_filename, external_data or None)


def ProcessFlowGraph(
    flow_graph: Any,
    model_save_dir: str | os.PathLike[str] | None,
    continue_on_error: bool = False,
    opset: int | None = None,
    extra_opset: Any = None,
    shape_override: Mapping[str, Sequence[int]] | None = None,
    dynamic_batch_size: bool = False,
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
) -> WrappedGraph:
    """Return the ONNX graph of a graph; see `Export` for the arguments.

    Raises:
        UnsupportedOperatorsError: operators that ONNX cannot express; lists all of them.
        RuntimeError: the graph was never called.
        ValueError: what is to be exported is no graph, or `shape_override` names no input.
    """
    args, kwargs = _arguments(flow_graph, shape_override)
    if model_save_dir is not None:
        _load_weights(flow_graph, Path(model_save_dir))
    domains = {opset.domain: opset.version for opset in extra_opset or ()}
    options = ExportOptions(
        opset=opset or None,
        dynamic={0: {0: "batch"}} if dynamic_batch_size else {},
        handlers=registered_handlers(opset or None),
        progress=progress,
        domains=domains,
        keep_unsupported=continue_on_error,
    )
    return WrappedGraph.of(export_model(flow_graph, args, kwargs, options))


def FlowToOnnxNaive(
    flow_graph: Graph | JobFunction, shape_override: Mapping[str, Sequence[int]] | None = None
) -> tuple[list[onnx.NodeProto], Counter[str], Counter[str], dict[str, int], dict[str, list[int]]]:
    """List the operators of a graph as nodes of the domain ``oneflow``, as they are recorded.

    Args:
        flow_graph: a graph that was called, or a job function.
        shape_override: other shapes of inputs, by name.

    Returns:
        The nodes in order; the number of each operator, and of each attribute; the ONNX element
        types of all values, and their shapes.

    Raises:
        RuntimeError: the graph was never called.
        ValueError: it is no graph.
    """
    args, kwargs = _arguments(flow_graph, shape_override)
    exported = exported_model(flow_graph)
    recorded = recorded_captures(exported, args, kwargs, ExportOptions())
    trace = merged_trace(recorded.steps, exported.prefix)
    inputs, weights = input_names(trace, exported, argument_names(flow_graph, args, kwargs))
    kinds = {number: kind for number, (kind, _) in trace.inputs.items()}
    kinds.update(pair for call in trace.calls for pair in call.results)
    names = {n: f"v{n}" for n in (*kinds, *trace.numbers)} | inputs | weights
    nodes = [
        onnx.helper.make_node(
            call.primitive,
            [names[number] for number in call.operands],
            [names[number] for number, _ in call.results],
            name=call.scope,
            domain=UNSUPPORTED_DOMAIN,
            **{name: _as_attribute(value) for name, value in call.attributes.items()},
        )
        for call in trace.calls
    ]
    types = {names[number]: int(onnx_type(kind.dtype)) for number, kind in kinds.items()}
    shapes = {
        names[number]: list(require_static(kind.shape, "a shape")) for number, kind in kinds.items()
    }
    operators = Counter(call.primitive for call in trace.calls)
    return nodes, operators, Counter(a.name for n in nodes for a in n.attribute), types, shapes


def TopologicalSort(g: WrappedGraph, continue_on_error: bool = False) -> None:
    """Bring the nodes of a graph into an order in which each comes after those that it reads.

    Args:
        g: the graph.
        continue_on_error: leave the nodes of a cycle where they are, and warn, instead of raising.

    Raises:
        ValueError: there is a cycle.
    """
    g.TopologicalSort(continue_on_error)


def FlowOnnxMapping(
    g: WrappedGraph, ops_mapping: Mapping[str, HandlerEntry]
) -> tuple[Counter[str], Counter[str], list[Exception]]:
    """Convert operators of OneFlow in a graph, one by one, by the handlers of users.

    Nodes of other domains than ``oneflow``, and those with `skip_conversion`, stay as they are.

    Args:
        g: the graph, as of what `FlowToOnnxNaive` lists; it is changed.
        ops_mapping: handlers by operator, as of `flow_op.CreateMapping`.

    Returns:
        The number of each operator that was converted, and of each that was not, and what handlers
        raised.

    Example:
        >>> from onnx import helper
        >>> from oneflow_onnx.oneflow2onnx import flow2onnx
        >>> from oneflow_onnx.onnx_wrapper import Graph
        >>> node = helper.make_node("relu", ["x"], ["y"], domain="oneflow")
        >>> flow2onnx.FlowOnnxMapping(Graph([node]), {})
        (Counter(), Counter({'relu': 1}), [])
    """
    mapped: Counter[str] = Counter()
    unmapped: Counter[str] = Counter()
    exceptions: list[Exception] = []
    for node in g.get_nodes():
        name = node.op_type
        if node.skip_conversion or node.domain != UNSUPPORTED_DOMAIN:
            continue
        if name not in ops_mapping:
            unmapped[name] += 1
            continue
        try:
            _convert(g, node, ops_mapping[name])
            mapped[name] += 1
        except Exception as error:  # Whatever a handler of a user raises.
            exceptions.append(error)
    if unmapped:
        _LOGGER.error("Unsupported ops: %s", unmapped)
    return mapped, unmapped, exceptions


def _convert(g: WrappedGraph, node: Node, entry: HandlerEntry) -> None:
    """Let a handler change a node, or replace it by the one that it returns."""
    function, target, kwargs = entry
    primitive, attributes = node.op_type, node.attrs
    node.op_type, node.domain = target or primitive, ""
    node.attrs = {} if target is not None else dict(attributes)
    node.inputs = ordered(primitive, node.inputs)
    try:
        replacement = function(g, node, **kwargs)
    except Exception:
        node.op_type, node.domain, node.attrs = primitive, UNSUPPORTED_DOMAIN, attributes
        raise
    if replacement is not None and replacement is not node:
        g.ReplaceNode(node, replacement)


def _as_attribute(value: Any) -> Any:
    """A value that ONNX can hold as an attribute; a text for any other."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple) and value and all(type(item) is int for item in value):
        return list(value)
    return repr(value)


def _arguments(
    flow_graph: Any, shape_override: Mapping[str, Sequence[int]] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments like those that a graph was called with.

    Raises:
        RuntimeError: it was never called.
        ValueError: it is no graph, or `shape_override` names no input.
    """
    if not isinstance(flow_graph, Graph | JobFunction):
        raise ValueError(
            f'Cannot find job "{getattr(flow_graph, "__name__", flow_graph)}" in jobset: it is '
            "neither a job function nor an `nn.Graph`; modules are exported by "
            "`oneflow.onnx.export(module, args, path)`"
        )
    args, kwargs = compiled_arguments(flow_graph)
    return (_reshaped(flow_graph, args, shape_override) if shape_override else args), kwargs


def _reshaped(
    graph: Graph | JobFunction, args: tuple[Any, ...], shapes: Mapping[str, Sequence[int]]
) -> tuple[Any, ...]:
    names = exported_model(graph).signature
    unknown = sorted(set(shapes) - set(names))
    if unknown:
        raise ValueError(f"`shape_override` names {unknown}, but the inputs are {list(names)}")
    return tuple(
        flow.zeros(*shapes[name], dtype=arg.dtype) if name in shapes else arg
        for name, arg in zip(names, args, strict=False)
    )


def _load_weights(graph: Graph | JobFunction, folder: Path) -> None:
    """Load the modules of a graph from what ``flow.save(graph.state_dict(), folder)`` wrote.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    if not folder.exists():
        raise FileNotFoundError(f"there are no weights at `{folder}`")
    if isinstance(graph, JobFunction):
        flow.load_variables(flow.checkpoint.get(str(folder)))
        return
    state = flow.load(str(folder))
    for name, module in graph.named_modules():
        if name in state:
            module.load_state_dict(state[name])
