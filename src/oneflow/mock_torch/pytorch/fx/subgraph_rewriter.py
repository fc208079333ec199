"""Replacing a pattern in a graph: ``torch.fx.subgraph_rewriter``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from oneflow import nn
from oneflow.mock_torch.pytorch.fx._symbolic_trace import symbolic_trace
from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import GraphModule, _find, _set_member
from oneflow.mock_torch.pytorch.fx.node import Node
from oneflow.mock_torch.pytorch.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

MatchFilter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A place where a pattern was replaced.

    Attributes:
        anchor: the node of the pattern that it was found by.
        nodes_map: the nodes of the graph, by those of the pattern.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was replaced, and by what.

    Attributes:
        anchor: the node of the pattern that it was found by.
        nodes_map: the nodes of the graph, by those of the pattern.
        replacements: the nodes that are there now.
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace each place of a pattern in a graph module by something else.

    Args:
        gm: the module, which is changed.
        pattern: a function, which uses all its arguments, or a graph module.
        replacement: the same, with as many arguments.

    Returns:
        The places; of places that share nodes the first one counts.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> module = torch.fx.symbolic_trace(lambda x: x.neg().relu())
        >>> places = torch.fx.replace_pattern(module, lambda x: x.neg(), lambda x: x.exp())
        >>> len(places), module(torch.zeros(1))
        (1, tensor([1.]))
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(place.anchor, place.nodes_map) for place in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[MatchFilter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replace a pattern, as `replace_pattern` does, at the places that filters let pass.

    Args:
        gm: the module, which is changed.
        pattern: a function, a graph or a graph module.
        replacement: the same.
        match_filters: functions of a place, the graph and the pattern's graph.
        ignore_literals: arguments that are no nodes may differ.
        replacement_callback: makes the graph for a place, instead of `replacement`.
        node_name_match: nodes whose names hold this text fit as well.

    Raises:
        AssertionError: the replacement has another number of arguments or results, or there is
            none.
    """
    pattern_graph, graph = _graph_of(pattern), gm.graph
    if replacement is None and replacement_callback is None:
        raise AssertionError(
            "Must provide either a replacement GraphModule or a replacement callback"
        )
    common = None if replacement is None else _graph_of(replacement)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = matcher.match(graph, node_name_match)
    filters = match_filters or []
    matches = [x for x in matches if all(passes(x, graph, pattern_graph) for passes in filters)]
    # The nodes that stand for those that earlier replacements have taken away.
    nodes_map: dict[Node, Node] = {}
    places = []
    for match in matches:
        new = (
            common
            if replacement_callback is None
            else replacement_callback(match, graph, pattern_graph)
        )
        places.append(_replace(graph, pattern_graph, match, new, nodes_map))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _take_members(gm, replacement)
    return places


def _graph_of(source: Any) -> Graph:
    if isinstance(source, GraphModule):
        return source.graph
    return source if isinstance(source, Graph) else symbolic_trace(source).graph


def _replace(
    graph: Graph,
    pattern: Graph,
    match: InternalMatch,
    replacement: Any,
    nodes_map: dict[Node, Node],
) -> ReplacedPatterns:
    inputs = [node for node in replacement.nodes if node.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}"
        )
    for member, node in match.nodes_map.items():
        if isinstance(node, Node):
            match.nodes_map[member] = nodes_map.get(node, node)
    match.placeholder_nodes = [
        nodes_map.get(node, node) if isinstance(node, Node) else node
        for node in match.placeholder_nodes
    ]
    copies: dict[Node, Any] = dict(zip(inputs, match.placeholder_nodes, strict=True))
    with graph.inserting_before(_place(graph, match.returning_nodes)):
        results = graph.graph_copy(replacement, copies)
    results = (results,) if isinstance(results, Node) else results
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}"
        )
    for node, result in zip(match.returning_nodes, results, strict=True):
        node.replace_all_uses_with(result)
        nodes_map[node] = result
    for member in reversed(pattern.nodes):
        if member.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[member])
    added = [node for node in copies.values() if node not in match.placeholder_nodes]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, added)


def _place(graph: Graph, results: list[Node]) -> Node:
    """Return the node before which what gives these results stands: the first that reads one."""
    users = {user for node in results for user in node.users}
    nodes = list(graph.nodes)
    if users:
        return next(node for node in nodes if node in users)
    return nodes[max(nodes.index(node) for node in results) + 1]


def _take_members(gm: GraphModule, source: nn.Module) -> None:
    """Copy the modules and attributes that new nodes name, unless there are such already.

    Raises:
        RuntimeError: neither module has one.
    """
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        path = str(node.target)
        owners = [module for module in (gm, source) if _find(module, path) is not None]
        if not owners:
            raise RuntimeError(
                f"Attempted to create a {node.op} node during subgraph rewriting with target "
                f"{node.target}, but the referenced attribute does not exist in the replacement "
                "GraphModule"
            )
        if owners[0] is source:
            _set_member(gm, path, copy.deepcopy(_find(source, path)))
    gm.graph.lint()
