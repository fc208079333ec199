"""Finding a pattern in a graph: ``torch.fx.passes.utils.matcher_utils``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oneflow.mock_torch.pytorch.fx.graph import Graph
from oneflow.mock_torch.pytorch.fx.graph_module import _find
from oneflow.mock_torch.pytorch.fx.node import Node
from oneflow.mock_torch.pytorch.fx.passes.utils.fuser_utils import validate_partition
from oneflow.tensor.tensor import Tensor


@dataclass
class InternalMatch:
    """A place where a pattern was found.

    Attributes:
        anchors: the nodes of the pattern that nothing in it reads.
        nodes_map: the nodes of the graph, by those of the pattern.
        placeholder_nodes: what stands in the graph for the pattern's inputs.
        returning_nodes: the nodes of the graph for the pattern's outputs.
        name_node_map: nodes of the graph by names that a pattern gives them.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            dict(self.nodes_map),
            list(self.placeholder_nodes),
            list(self.returning_nodes),
        )

    def computing_nodes(self) -> set[Node]:
        """Return the nodes of the graph that compute what the pattern does."""
        ends = ("placeholder", "output")
        return {node for member, node in self.nodes_map.items() if member.op not in ends}


class SubgraphMatcher:
    """A pattern to be found in graphs, from its results backwards.

    Args:
        pattern: the graph of the pattern.
        match_output: its output is a part of it.
        match_placeholder: its inputs stand for inputs alone, and not for anything.
        remove_overlapping_matches: count only the first of places that share nodes.
        ignore_literals: arguments that are no nodes may differ.

    Raises:
        ValueError: the pattern is empty.
        AssertionError: it has a node that nothing reads.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern, self.match_output = pattern, match_output
        self.match_placeholder, self.ignore_literals = match_placeholder, ignore_literals
        self.remove_overlapping_matches = remove_overlapping_matches
        nodes = list(pattern.nodes)
        if not nodes:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        if any(x.op != "output" and not x.users and not x.is_impure() for x in nodes):
            raise AssertionError(
                "SubgraphMatcher cannot be initialized with an pattern with dead code"
            )
        output = nodes[-1]
        self.pattern_placeholder_nodes = [x for x in nodes if x.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        outputs = [node for node in output.all_input_nodes if len(node.users) == 1]
        self.pattern_anchors = [output] if match_output else outputs

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the places where the pattern is in a graph.

        Other nodes read none of its nodes but its results, and nothing on the way between two of
        its nodes is outside of it.

        Args:
            graph: the graph.
            node_name_match: nodes whose names hold this text fit as well.
        """
        matches: list[InternalMatch] = []
        self._add_anchors(
            self.pattern_anchors,
            InternalMatch(self.pattern_anchors),
            graph,
            node_name_match,
            matches,
        )
        valid, taken = [], set()
        for match in matches:
            nodes = match.computing_nodes()
            if not self._is_contained(match) or not validate_partition(nodes):
                continue
            if self.remove_overlapping_matches and nodes & taken:
                continue
            taken |= nodes
            valid.append(match)
        return valid

    def _add_anchors(
        self,
        anchors: list[Node],
        match: InternalMatch,
        graph: Graph,
        name: str,
        matches: list[InternalMatch],
    ) -> None:
        """Extend a match by all places of the remaining anchors, and keep those that are whole."""
        if not anchors:
            if not match.nodes_map:
                return
            match.placeholder_nodes = [match.nodes_map[x] for x in self.pattern_placeholder_nodes]
            match.returning_nodes = [match.nodes_map[x] for x in self.pattern_returning_nodes]
            matches.append(match)
            return
        for candidate in list(graph.nodes):
            extended = match.__copy__()
            if self._match_nodes(anchors[0], candidate, extended, name):
                self._add_anchors(anchors[1:], extended, graph, name, matches)

    def _match_nodes(self, member: Node, node: Node, match: InternalMatch, name: str = "") -> bool:
        """Add a node, and all that it reads, to a match, if they fit."""
        if member in match.nodes_map:
            return match.nodes_map[member] is node
        if any(node is other for other in match.nodes_map.values()):
            return False
        if not self._are_equal(member, node, name):
            return False
        match.nodes_map[member] = node
        if member.op == "placeholder":
            return True
        if list(member.kwargs) != list(node.kwargs):
            return False
        left, right = ([*x.args, *x.kwargs.values()] for x in (member, node))
        return self._match_arguments(left, right, match)

    def _match_arguments(self, left: Any, right: Any, match: InternalMatch) -> bool:
        if len(left) != len(right):
            return False
        for pattern_argument, argument in zip(left, right, strict=True):
            if isinstance(pattern_argument, Node) and isinstance(argument, Node):
                fits = self._match_nodes(pattern_argument, argument, match)
            elif isinstance(pattern_argument, list | tuple) and isinstance(argument, list | tuple):
                fits = self._match_arguments(pattern_argument, argument, match)
            else:
                fits = (
                    self._match_literals(pattern_argument, argument, match) or self.ignore_literals
                )
            if not fits:
                return False
        return True

    def _match_literals(self, pattern_argument: Any, argument: Any, match: InternalMatch) -> bool:
        if isinstance(pattern_argument, Node):
            if pattern_argument.op != "placeholder":
                return False
            return bool(match.nodes_map.setdefault(pattern_argument, argument) == argument)
        return type(pattern_argument) is type(argument) and pattern_argument == argument

    def _are_equal(self, member: Node, node: Node, name: str) -> bool:
        if member.op == "placeholder" and not self.match_placeholder:
            return True
        if name and name in node.name:
            return True
        if member.op != node.op:
            return False
        if member.op in ("placeholder", "output"):
            return True
        if member.op == "get_attr":
            return _have_equal_attributes(member, node)
        return member.target == node.target

    def _is_contained(self, match: InternalMatch) -> bool:
        inside = {
            node: member for member, node in match.nodes_map.items() if member.op != "placeholder"
        }
        return all(
            member in self.pattern_returning_nodes or all(user in inside for user in node.users)
            for node, member in inside.items()
        )


def _have_equal_attributes(member: Node, node: Node) -> bool:
    """Return whether two nodes read tensors from their modules, whatever their values."""
    values = [_find(x.graph.owning_module, str(x.target)) for x in (member, node)]
    if type(values[0]) is not type(values[1]):
        return False
    if not isinstance(values[0], Tensor):
        raise RuntimeError(f"Unsupported type {values[0]} when matching attributes")
    return True
