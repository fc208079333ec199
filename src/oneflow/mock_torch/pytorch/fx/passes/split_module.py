"""A module of submodules in place of one symbolic graph: ``torch.fx.passes.split_module``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule
from oneflow.mock_torch.pytorch.fx.node import Node, map_arg
from oneflow.module.module import Module


@dataclass
class Partition:
    """The nodes of a submodule.

    Attributes:
        name: its name.
        nodes: its nodes, in order.
        inputs: nodes of others that it uses, in the order of their use.
        outputs: nodes of its own that others use, in that order.
        dependencies: the names of the partitions whose results it uses.
        dependents: the names of those that use its results.
    """

    name: str
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    dependencies: dict[str, None] = field(default_factory=dict)
    dependents: dict[str, None] = field(default_factory=dict)

    @property
    def submod_name(self) -> str:
        """The name of the submodule."""
        return f"submod_{self.name}"


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
) -> GraphModule:
    """Make submodules of the nodes of a graph, and a module that calls them.

    Args:
        m: the traced module.
        root_m: the module that has what the graph names.
        split_callback: returns the partition of a node, a number or name; it is not asked about
            arguments, attributes and the output.
        qualname_map: gets the path in `m` of each module within a submodule.
        keep_original_order: submodules are called in the order of their first nodes where their
            results allow it.
        keep_original_node_name: nodes in submodules have the names that they had.

    Raises:
        RuntimeError: two partitions need each other's results.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.fx.passes.split_module import split_module
        >>> traced = torch.fx.symbolic_trace(lambda x: x.exp().sum())
        >>> parts = split_module(traced, traced, lambda node: int(node.target == "sum"))
        >>> print(parts.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
    """
    paths = {} if qualname_map is None else qualname_map
    members: dict[str, Any] = {}
    graph, values = Graph(), {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = graph.node_copy(node)
        if node.op == "get_attr":
            name = str(node.target)
            members[name] = operator.attrgetter(name)(root_m)
    for partition in _in_order(_partitions(m.graph, split_callback), bool(keep_original_order)):
        submodule = _submodule(partition, root_m, paths, bool(keep_original_node_name))
        members[partition.submod_name] = submodule
        operands = tuple(values[node] for node in partition.inputs)
        call = graph.call_module(partition.submod_name, operands)
        outputs = list(partition.outputs)
        for place, node in enumerate(outputs):
            is_one = len(outputs) == 1
            values[node] = call if is_one else graph.call_function(operator.getitem, (call, place))
    result = m.graph.output_node()
    graph.output(map_arg(result.args[0], values.__getitem__), result.type)
    return GraphModule(members, graph)


def _partitions(graph: Graph, split_callback: Callable[[Node], Any]) -> dict[str, Partition]:
    """The partitions by name, in the order of their first nodes."""
    owners: dict[Node, Partition] = {}
    partitions: dict[str, Partition] = {}
    for node in graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = str(split_callback(node))
            owners[node] = partitions.setdefault(name, Partition(name))
            owners[node].nodes.append(node)
    for node in graph.nodes:
        for operand in node.all_input_nodes:
            _record_use(owners.get(operand), operand, owners.get(node))
    return partitions


def _record_use(producer: Partition | None, node: Node, user: Partition | None) -> None:
    """Note that a partition, or the output, uses a node of another partition, or of none."""
    if producer is user:
        return
    if producer is not None:
        producer.outputs[node] = None
    if user is not None:
        user.inputs[node] = None
        if producer is not None:
            user.dependencies[producer.name] = None
            producer.dependents[user.name] = None


def _in_order(partitions: dict[str, Partition], keeps_order: bool) -> list[Partition]:
    """The partitions, each behind those whose results it uses.

    If several can be next, the last one to become so is taken, as in PyTorch, or the one with the
    first node.
    """
    missing = {name: set(partition.dependencies) for name, partition in partitions.items()}
    ready = [name for name, dependencies in missing.items() if not dependencies]
    ordered: list[Partition] = []
    while ready:
        name = min(ready, key=list(partitions).index) if keeps_order else ready[-1]
        ready.remove(name)
        ordered.append(partitions[name])
        for dependent in partitions[name].dependents:
            missing[dependent].discard(name)
            if not missing[dependent]:
                ready.append(dependent)
    if len(ordered) < len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return ordered


def _submodule(
    partition: Partition, root: Module, paths: dict[str, str], keeps_names: bool
) -> GraphModule:
    graph, members, values = Graph(), {}, {}
    for node in partition.inputs:
        values[node] = graph.placeholder(node.name, node.type)
        values[node].meta = node.meta.copy()
    for node in partition.nodes:
        target = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            members[target] = root.get_submodule(str(node.target))
            paths[f"{partition.submod_name}.{target}"] = str(node.target)
        args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
        name = node.name if keeps_names else None
        values[node] = graph.create_node(node.op, target, args, kwargs, name, node.type)
        values[node].meta = node.meta.copy()
    results = tuple(values[node] for node in partition.outputs)
    graph.output(results[0] if len(results) == 1 else results)
    return GraphModule(members, graph)


__all__ = ["Partition", "split_module"]
