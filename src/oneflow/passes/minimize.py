"""The least sum of costs, each of which depends on the states of one node or of two.

Nodes are eliminated one after the other, as in dynamic programming (Bertelè and Brioschi,
"Nonserial Dynamic Programming", 1972): the least cost over the states of one node is a table over
those of its neighbours. Where such a table would be too large, a node is held in the state in which
it began; what is found then is at least not worse, and the search is repeated from there with other
nodes held.
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
    """States whose costs have the least sum, or one close to it.

    Args:
        nodes: per node, the cost of each of its states.
        pairs: per pair of nodes, the cost of each pair of their states.
        start: states to begin with; the result never costs more.
    """
    best, least = list(start), total(nodes, pairs, start)
    held: set[int] = set()
    for _ in range(_ROUNDS):
        search = _Elimination(nodes, pairs, best, held)
        found = search.run()
        cost = total(nodes, pairs, found)
        if cost < least:
            best, least = found, cost
        elif held:
            break
        if not search.held:
            break
        # Another time others are held, where that is possible.
        held = held | search.held
    return best


def total(
    nodes: Sequence[np.ndarray], pairs: Mapping[tuple[int, int], np.ndarray], states: Sequence[int]
) -> float:
    """The sum of costs in these states."""
    alone = sum(float(costs[state]) for costs, state in zip(nodes, states, strict=True))
    return alone + sum(float(costs[states[i], states[j]]) for (i, j), costs in pairs.items())


class _Elimination:
    """One elimination of all nodes.

    Attributes:
        held: nodes that were left in the states in which they began.
    """

    def __init__(
        self,
        nodes: Sequence[np.ndarray],
        pairs: Mapping[tuple[int, int], np.ndarray],
        start: Sequence[int],
        spared: set[int],
    ) -> None:
        self._sizes = [len(costs) for costs in nodes]
        self._start = start
        self._spared = spared
        self.held: set[int] = set()
        # Per node its tables: those who take part, in ascending order, and the costs.
        self._tables: list[list[tuple[tuple[int, ...], np.ndarray]]] = [
            [((number,), costs)] for number, costs in enumerate(nodes)
        ]
        for (i, j), costs in pairs.items():
            self._add((i, j) if i < j else (j, i), costs if i < j else costs.T)

    def _add(self, members: tuple[int, ...], costs: np.ndarray) -> None:
        for number in members:
            self._tables[number].append((members, costs))

    def run(self) -> list[int]:
        """The states that were found."""
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
                hub = self._widest(done)
                touched = self._hold(hub)
                done.add(hub)
                back.append((hub, (), np.array(self._start[hub])))
                heapq.heappush(waiting, (now, number))
            else:
                done.add(number)
                neighbours, choice = self._eliminate(number)
                back.append((number, neighbours, choice))
                touched = set(neighbours)
            for other in touched - done:
                heapq.heappush(waiting, (self._table_size(other), other))
        states = [0] * len(self._sizes)
        for number, neighbours, choice in reversed(back):
            states[number] = int(choice[tuple([states[each] for each in neighbours])])
        return states

    def _neighbours(self, number: int) -> set[int]:
        return {each for members, _ in self._tables[number] for each in members} - {number}

    def _table_size(self, number: int) -> int:
        """Elements of the table over a node and its neighbours."""
        return self._sizes[number] * math.prod(self._sizes[n] for n in self._neighbours(number))

    def _take(self, number: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """The tables of a node, which are then nobody's any more."""
        tables = self._tables[number]
        self._tables[number] = []
        for other in {each for members, _ in tables for each in members} - {number}:
            self._tables[other] = [each for each in self._tables[other] if number not in each[0]]
        return tables

    def _eliminate(self, number: int) -> tuple[tuple[int, ...], np.ndarray]:
        """Replace a node's tables by one over its neighbours; these, and its best states."""
        neighbours = tuple(sorted(self._neighbours(number)))
        axes = {each: axis for axis, each in enumerate((number, *neighbours))}
        costs = np.zeros([self._sizes[each] for each in axes])
        for members, table in self._take(number):
            order = sorted(range(len(members)), key=lambda place: axes[members[place]])
            shape = [1] * len(axes)
            for member in members:
                shape[axes[member]] = self._sizes[member]
            costs += table.transpose(order).reshape(shape)
        if neighbours:
            self._add(neighbours, costs.min(axis=0))
        return neighbours, costs.argmin(axis=0)

    def _widest(self, done: set[int]) -> int:
        """The node with most neighbours, of those that have not been held before if possible."""
        open_nodes = [n for n in range(len(self._sizes)) if n not in done]
        return max(open_nodes, key=lambda n: (n not in self._spared, len(self._neighbours(n))))

    def _hold(self, number: int) -> set[int]:
        """Leave a node in its state; the nodes whose tables became smaller."""
        self.held.add(number)
        neighbours = self._neighbours(number)
        for members, table in self._take(number):
            rest = tuple(each for each in members if each != number)
            if rest:
                state = self._start[number]
                self._add(rest, np.take(table, state, axis=members.index(number)))
        return neighbours
