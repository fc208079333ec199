"""Directed graphs, for the dependencies between modules."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any


class DiGraph:
    """A directed graph; nodes are any objects that can be hashed, and have attributes.

    Example:
        >>> from oneflow.mock_torch.pytorch.package._digraph import DiGraph
        >>> graph = DiGraph()
        >>> graph.add_edge("model", "layers")
        >>> list(graph.successors("model")), "layers" in graph
        (['layers'], True)
    """

    def __init__(self) -> None:
        # Dictionaries instead of sets keep the order in which edges were added.
        self._nodes: dict[Any, dict[str, Any]] = {}
        self._successors: dict[Any, dict[Any, None]] = {}
        self._predecessors: dict[Any, dict[Any, None]] = {}

    def add_node(self, n: Any, **kwargs: Any) -> None:
        """Add a node, or update its attributes."""
        self._nodes.setdefault(n, {}).update(kwargs)
        self._successors.setdefault(n, {})
        self._predecessors.setdefault(n, {})

    def add_edge(self, u: Any, v: Any) -> None:
        """Add an edge from `u` to `v`, and these nodes."""
        self.add_node(u)
        self.add_node(v)
        self._successors[u][v] = None
        self._predecessors[v][u] = None

    def successors(self, n: Any) -> Iterator[Any]:
        """Return the nodes to which edges lead from a node.

        Raises:
            ValueError: the node is not in the graph.
        """
        return self._neighbours(self._successors, n)

    def predecessors(self, n: Any) -> Iterator[Any]:
        """Return the nodes from which edges lead to a node.

        Raises:
            ValueError: the node is not in the graph.
        """
        return self._neighbours(self._predecessors, n)

    def _neighbours(self, table: dict[Any, dict[Any, None]], node: Any) -> Iterator[Any]:
        if node not in table:
            raise ValueError(f"node {node} is not in this graph")
        return iter(table[node])

    @property
    def edges(self) -> Iterator[tuple[Any, Any]]:
        """All edges, as pairs of nodes."""
        return ((start, end) for start, ends in self._successors.items() for end in ends)

    @property
    def nodes(self) -> dict[Any, dict[str, Any]]:
        """The attributes of each node."""
        return self._nodes

    def __iter__(self) -> Iterator[Any]:
        return iter(self._nodes)

    def __contains__(self, n: Any) -> bool:
        try:
            return n in self._nodes
        except TypeError:  # it cannot be hashed
            return False

    def forward_transitive_closure(self, src: Any) -> set[Any]:
        """Return a node and all that can be reached from it."""
        return self._closure(self._successors, src)

    def backward_transitive_closure(self, src: Any) -> set[Any]:
        """Return a node and all from which it can be reached."""
        return self._closure(self._predecessors, src)

    def _closure(self, table: dict[Any, dict[Any, None]], source: Any) -> set[Any]:
        reached, waiting = {source}, deque([source])
        while waiting:
            for node in self._neighbours(table, waiting.popleft()):
                if node not in reached:
                    reached.add(node)
                    waiting.append(node)
        return reached

    def all_paths(self, src: Any, dst: Any) -> str:
        """Return the graph of all paths from one node to another, in the language of Graphviz."""
        inside = self.forward_transitive_closure(src) & self.backward_transitive_closure(dst)
        paths = DiGraph()
        for start, end in self.edges:
            if start in inside and end in inside:
                paths.add_edge(start, end)
        return paths.to_dot()

    def first_path(self, dst: Any) -> list[Any]:
        """Return the nodes of a path that leads to a node, back from one without predecessors."""
        path = [dst]
        while ahead := [node for node in self.predecessors(path[0]) if node not in path]:
            path.insert(0, ahead[0])
        return path

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        edges = "\n".join(f'"{start}" -> "{end}";' for start, end in self.edges)
        return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{edges}\n}}\n"
