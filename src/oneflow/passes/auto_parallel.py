"""Auto parallel: how every tensor of a step lies is chosen for the whole step at once.

While a step is recorded, each operation takes what costs least there and then. Here conversions are
left out again, and how each operation is computed, and how each variable lies, is chosen anew so
that computing and converting together take least by the model of `oneflow.primitives.cost.timing`.
Dimensions of the mesh are settled one after the other, again and again until nothing is gained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from oneflow.base.sbp import BROADCAST, NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.passes.lay_out import Freedom, Layouts, lay_out
from oneflow.passes.layout_nodes import WHOLE, Computed, Edge, Fixed, Kept, Node, Port
from oneflow.passes.minimize import minimize, total
from oneflow.primitives.cost.timing import Machine, conversion_seconds
from oneflow.primitives.sharding.signatures import SignatureSpace
from oneflow.program.duration import program_seconds
from oneflow.program.ir import Instruction, Program

_ROUNDS = 4


def parallelize(
    program: Program, freedom: Freedom, machine: Machine, shares: bool = True
) -> tuple[Program, tuple[float, float]]:
    """The program with everything laid out to take the least time; itself if nothing is gained.

    Args:
        program: to lay out anew.
        freedom: what may be changed.
        machine: by whose rates time is counted.
        shares: let all readers of a value share one conversion of it.

    Returns:
        The program, and the seconds that it took before and takes now.
    """
    search = _Search(program, freedom, machine, shares)
    found = lay_out(program, freedom, search.run())
    before, after = (sum(program_seconds(each, machine)) for each in (program, found))
    return (found, (before, after)) if after < before else (program, (before, before))


class _Search:
    """The choices for one program.

    Args:
        program: with conversions, which are looked through.
        freedom: what may be changed.
        machine: by whose rates time is counted.
        shares: whether all readers of a value share one conversion of it.
    """

    def __init__(self, program: Program, freedom: Freedom, machine: Machine, shares: bool) -> None:
        self._shares = shares
        self._program = program
        self._freedom = freedom
        self._machine = machine
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._variables: dict[int, int] = {}
        self._groups: dict[int, list[int]] = {}
        self._values: dict[int, int] = {}
        self._spaces: dict[int, SignatureSpace] = {}
        self._ndim = max(spec.device.ndim for spec in program.spec_table().values())
        self._build()
        self._chosen: list[tuple] = [self._first_choice(node) for node in self._nodes]

    def run(self) -> Layouts:
        """The best layouts that were found."""
        least = float("inf")
        for _ in range(_ROUNDS):
            now = min(self._settle(axis) for axis in range(self._ndim))
            if now >= least:
                break
            least = now
        chosen = self._chosen
        return Layouts(
            inputs={number: chosen[node] for number, node in self._variables.items()},
            signatures={
                place: self._spaces[place].signature([chosen[node] for node in nodes])
                for place, nodes in self._groups.items()
            },
            values={number: chosen[node] for number, node in self._values.items()},
        )

    # --- nodes and edges

    def _build(self) -> None:
        program, freedom = self._program, self._freedom
        makers: dict[int, tuple[int, Port]] = {}
        readers: dict[int, list[tuple[int, Port]]] = defaultdict(list)
        for number, spec in enumerate(program.inputs):
            if number in freedom.variables:
                self._variables[number] = node = self._add(Kept(spec, partial=False))
            else:
                node = self._add(Fixed({WHOLE: spec.sbp or ()}))
            makers[number] = (node, WHOLE)
        same = freedom.same_values(program)
        for place, instruction in enumerate(program.instructions):
            if instruction.results[0] in same:
                continue
            operands = [same.get(number, number) for number in instruction.operands]
            inward, outward = self._add_instruction(place, instruction)
            for position, node in inward.items():
                readers[operands[position]].append((node, ("in", position)))
            for position, node in outward.items():
                makers[instruction.results[position]] = (node, ("out", position))
        table = program.spec_table()
        for place, number in enumerate(program.outputs):
            variable = self._variables.get(freedom.updates.get(place, -1))
            if variable is None:
                variable = self._add(Fixed({WHOLE: table[number].sbp or ()}))
            readers[same.get(number, number)].append((variable, WHOLE))
        for number, reading in readers.items():
            self._connect(number, table[number], makers[number], reading)

    def _add(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _add_instruction(
        self, place: int, instruction: Instruction
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Add an operation's nodes; their numbers by the position of operands and of results."""
        operation = instruction.operation
        inward: dict[int, int] = {}
        outward: dict[int, int] = {}
        stays = operation.primitive.traits.kind.fixes_sbp
        if not stays:
            space = self._spaces[place] = SignatureSpace(operation)
            self._groups[place] = [self._add(Computed(space, group)) for group in space.groups]
            for node, group in zip(self._groups[place], space.groups, strict=True):
                inward.update((i, node) for i in group.inputs if not operation.is_scalar[i])
                outward.update(dict.fromkeys(group.outputs, node))
        # What has no name at all is needed, and made, whole.
        rest: dict[Port, NdSbp] = {}
        for position, spec in enumerate(operation.in_specs):
            if position not in inward and not operation.is_scalar[position]:
                rest["in", position] = spec.sbp if stays else operation.device.broadcast
        for position, spec in enumerate(operation.out_specs):
            if position not in outward:
                rest["out", position] = spec.sbp if stays else operation.device.broadcast
        if rest:
            node = self._add(Fixed(rest))
            for side, position in rest:
                (inward if side == "in" else outward)[position] = node
        return inward, outward

    def _connect(
        self,
        number: int,
        spec: TensorSpec,
        maker: tuple[int, Port],
        reading: Sequence[tuple[int, Port]],
    ) -> None:
        """Edges from who makes a value to who reads it; several share one conversion."""
        source, out = maker
        others = {node for node, _ in reading} - {source}
        if self._shares and len(others) > 1 and not isinstance(self._nodes[source], Kept):
            hub = self._values[number] = self._add(Kept(spec, partial=True))
            self._edges.append(Edge(source, out, hub, WHOLE, spec))
            source, out = hub, WHOLE
        self._edges += [Edge(source, out, node, port, spec) for node, port in reading]

    def _first_choice(self, node: Node) -> tuple:
        """What is always possible: everything everywhere."""
        choice = BROADCAST if isinstance(node, Kept) else None
        return (choice,) * self._ndim

    # --- the search

    def _settle(self, axis: int) -> float:
        """Choose along one dimension of the mesh, with the others as they are; what it takes."""
        possible = [
            [
                changed
                for choice in node.choices
                if node.is_possible(changed := (*chosen[:axis], choice, *chosen[axis + 1 :]))
            ]
            for node, chosen in zip(self._nodes, self._chosen, strict=True)
        ]
        start = [each.index(now) for each, now in zip(possible, self._chosen, strict=True)]
        costs = [
            np.array([node.seconds(chosen, self._machine) for chosen in each])
            for node, each in zip(self._nodes, possible, strict=True)
        ]
        pairs: dict[tuple[int, int], np.ndarray] = {}
        for edge in self._edges:
            table = self._table(edge, possible[edge.source], possible[edge.target])
            if edge.source == edge.target:
                costs[edge.source] = costs[edge.source] + table.diagonal()
                continue
            key, turned = (edge.source, edge.target), (edge.target, edge.source)
            if turned in pairs:
                pairs[turned] = pairs[turned] + table.T
            else:
                pairs[key] = pairs[key] + table if key in pairs else table
        states = minimize(costs, pairs, start)
        self._chosen = [each[state] for each, state in zip(possible, states, strict=True)]
        return total(costs, pairs, states)

    def _table(self, edge: Edge, before: list[tuple], after: list[tuple]) -> np.ndarray:
        """What the conversion costs, for all choices at both ends."""
        leaves = [self._nodes[edge.source].layout(edge.out, each) for each in before]
        wanted = [self._nodes[edge.target].layout(edge.into, each) for each in after]
        return np.array(
            [[conversion_seconds(self._machine, edge.spec, a, b) for b in wanted] for a in leaves]
        )
