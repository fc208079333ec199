"""Minimize a sum of costs of single nodes and of pairs of nodes over the nodes' states.

Nodes are eliminated one after the other, as in dynamic programming (Bertelè and Brioschi,
"Nonserial Dynamic Programming", 1972): the least cost over the states of one node is a table over
those of its neighbors. If such a table would be too large, a node is fixed to the state in which it
began; the result is then at least not worse, and the search is repeated from there with other nodes
fixed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

import numpy as np

# Elements of the largest table; eight bytes each.
_MAX_TABLE_SIZE = 1 << 18
_ROUNDS = 4


def minimize(
    nodes: Sequence[np.ndarray], pairs: Mapping[tuple[int, int], np.ndarray], start: Sequence[int]
) -> list[int]:
    """Return states whose costs have the least sum, or one close to it.

    Args:
        nodes: per node, the cost of each of its states.
        pairs: per pair of nodes, the cost of each pair of their states.
        start: states to begin with; the result never costs more.
    """
    best, least = list(start), total(nodes, pairs, start)
    fixed: set[int] = set()
    for _ in range(_ROUNDS):
        search = _MinSumSolver(nodes, pairs, best, fixed)
        states = search.run()
        cost = total(nodes, pairs, states)
        if cost < least:
            best, least = states, cost
        elif fixed:
            break
        if not search.fixed:
            break
        # Next time other nodes are fixed, where that is possible.
        fixed = fixed | search.fixed
    return best


def total(
    nodes: Sequence[np.ndarray], pairs: Mapping[tuple[int, int], np.ndarray], states: Sequence[int]
) -> float:
    """The sum of costs in these states."""
    unary = sum(float(costs[state]) for costs, state in zip(nodes, states, strict=True))
    return unary + sum(float(costs[states[i], states[j]]) for (i, j), costs in pairs.items())


class _MinSumSolver:
    """One elimination of all nodes.

    Attributes:
        fixed: nodes that were left in the states in which they began.
    """

    def __init__(
        self,
        nodes: Sequence[np.ndarray],
        pairs: Mapping[tuple[int, int], np.ndarray],
        start: Sequence[int],
        fixed_before: set[int],
    ) -> None:
        self._sizes = [len(costs) for costs in nodes]
        self._start = start
        self._fixed_before = fixed_before
        self.fixed: set[int] = set()
        # Per node its tables: the nodes of each, in ascending order, and the costs.
        self._tables: list[list[tuple[tuple[int, ...], np.ndarray]]] = [
            [((number,), costs)] for number, costs in enumerate(nodes)
        ]
        for (i, j), costs in pairs.items():
            self._add((i, j) if i < j else (j, i), costs if i < j else costs.T)

    def _add(self, members: tuple[int, ...], costs: np.ndarray) -> None:
        for number in members:
            self._tables[number].append((members, costs))

    def run(self) -> list[int]:
        """Return the states that were found."""
        waiting = [(self._table_size(number), number) for number in range(len(self._sizes))]
        heapq.heapify(waiting)
        done: set[int] = set()
        back: list[tuple[int, tuple[int, ...], np.ndarray]] = []
        while waiting:
            size, number = heapq.heappop(waiting)
            if number in done:
                continue
            now = self._table_size(number)
            if now > size:
                heapq.heappush(waiting, (now, number))
                continue
            if now > _MAX_TABLE_SIZE:
                pivot = self._pivot(done)
                changed = self._fix(pivot)
                done.add(pivot)
                back.append((pivot, (), np.array(self._start[pivot])))
                heapq.heappush(waiting, (now, number))
            else:
                done.add(number)
                neighbors, choice = self._eliminate(number)
                back.append((number, neighbors, choice))
                changed = set(neighbors)
            for other in changed - done:
                heapq.heappush(waiting, (self._table_size(other), other))
        states = [0] * len(self._sizes)
        for number, neighbors, choice in reversed(back):
            states[number] = int(choice[tuple([states[neighbor] for neighbor in neighbors])])
        return states

    def _neighbors(self, number: int) -> set[int]:
        return {member for members, _ in self._tables[number] for member in members} - {number}

    def _table_size(self, number: int) -> int:
        """The number of elements of the table over a node and its neighbors."""
        return self._sizes[number] * math.prod(self._sizes[n] for n in self._neighbors(number))

    def _pop_tables(self, number: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Remove the tables of a node from all nodes, and return them."""
        tables = self._tables[number]
        self._tables[number] = []
        for other in {member for members, _ in tables for member in members} - {number}:
            self._tables[other] = [table for table in self._tables[other] if number not in table[0]]
        return tables

    def _eliminate(self, number: int) -> tuple[tuple[int, ...], np.ndarray]:
        """Replace a node's tables by one over its neighbors.

        Returns:
            The neighbors, and the best state of the node for each combination of their states.
        """
        neighbors = tuple(sorted(self._neighbors(number)))
        axes = {node: axis for axis, node in enumerate((number, *neighbors))}
        costs = np.zeros([self._sizes[axis] for axis in axes])
        for members, table in self._pop_tables(number):
            order = sorted(range(len(members)), key=lambda index: axes[members[index]])
            shape = [1] * len(axes)
            for member in members:
                shape[axes[member]] = self._sizes[member]
            costs += table.transpose(order).reshape(shape)
        if neighbors:
            self._add(neighbors, costs.min(axis=0))
        return neighbors, costs.argmin(axis=0)

    def _pivot(self, done: set[int]) -> int:
        """The node with most neighbors; nodes that were not fixed before come first."""
        open_nodes = [n for n in range(len(self._sizes)) if n not in done]
        return max(open_nodes, key=lambda n: (n not in self._fixed_before, len(self._neighbors(n))))

    def _fix(self, number: int) -> set[int]:
        """Leave a node in its state; returns the nodes whose tables became smaller."""
        self.fixed.add(number)
        neighbors = self._neighbors(number)
        for members, table in self._pop_tables(number):
            rest = tuple(member for member in members if member != number)
            if rest:
                state = self._start[number]
                self._add(rest, np.take(table, state, axis=members.index(number)))
        return neighbors
