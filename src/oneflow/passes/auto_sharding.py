"""Auto sharding: choose the shardings of all tensors of a step together.

While a step is recorded, each operation takes the signature that costs least at that point. Here
the conversions are left out, and the signatures of operations and the shardings of variables are
chosen anew, so that computing and converting together take least by the cost model, see
`oneflow.primitives.cost.time_model`. One dimension of the mesh is chosen after the other, and
all of them again until nothing is gained.

Devices add up partial sums in half precision only where the step as recorded does, or where the
search says so: elsewhere a cast to a wider dtype comes first, as recorded.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oneflow.base.dtype import HALF_DTYPES, DType
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.passes.apply_shardings import (
    ShardingAssignment,
    ShardingConstraints,
    apply_shardings,
)
from oneflow.passes.minimize import minimize, total
from oneflow.passes.sharding_graph import (
    ONLY_PORT,
    ComputationNode,
    ConversionEdge,
    FixedNode,
    Port,
    ShardingNode,
    TensorNode,
)
from oneflow.primitives.cost.chips import Chip
from oneflow.primitives.cost.time_model import boxing_seconds
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.primitives.sharding.signatures import SignatureSpace
from oneflow.primitives.traits import Kind
from oneflow.program.cost import program_seconds
from oneflow.program.cse import eliminate_common_values
from oneflow.program.ir import Instruction, Program
from oneflow.program.liveness import memory_of

_ROUNDS = 4
# Steps whose devices send less than this stay as recorded: a search takes longer than it saves.
_LEAST_BYTES = 1 << 20
# The factor by which other shardings of intermediate values may need more temporary memory.
_MEMORY = 1.5


@dataclass(frozen=True)
class ShardingSearch:
    """A search for shardings.

    Attributes:
        constraints: limits on the shardings.
        chip: the kind of the devices.
        shares_conversions: count one conversion of a value for all that read it.
        reduce_dtype: the half precision in which devices may add up any partial sums.
    """

    constraints: ShardingConstraints
    chip: Chip
    shares_conversions: bool = True
    reduce_dtype: DType | None = None


def assign_shardings(program: Program, search: ShardingSearch) -> Program:
    """Return the program with the shardings that take the least time.

    It is `program` itself if nothing is gained.
    """
    assignment = _Solver(program, search).run()
    sharded_program = apply_shardings(program, search.constraints, assignment)
    before, after = (
        sum(program_seconds(version, search.chip)) for version in (program, sharded_program)
    )
    return sharded_program if after < before else program


def choose_conversions(program: Program, search: ShardingSearch) -> Program:
    """Return the program with other shardings of what is between its inputs and its results.

    It is `program` itself where devices send little, or would send no less, or would need much
    more memory.
    """
    sent = _bytes_sent(program)
    if sent < _LEAST_BYTES:
        return program
    sharded_program = assign_shardings(program, search)
    if _bytes_sent(sharded_program) >= sent:
        return program
    old, new = (memory_of(version, ()).temporary for version in (program, sharded_program))
    return sharded_program if new <= _MEMORY * old else program


def _bytes_sent(program: Program) -> float:
    """The bytes that each device sends for the conversions of a program."""
    return sum(
        collective.sent
        for instruction in eliminate_common_values(program).instructions
        for collective in collectives_of(instruction.operation)
    )


class _Solver:
    """The choices for one program.

    Args:
        program: the program, with conversions, which are left out where they may be.
        search: the search.
    """

    def __init__(self, program: Program, search: ShardingSearch) -> None:
        self._program = program
        self._constraints = search.constraints
        self._chip = search.chip
        self._shares_conversions = search.shares_conversions
        self._reduce_dtype = search.reduce_dtype
        self._reduced = _reduced_values(program, search.constraints)
        self._nodes: list[ShardingNode] = []
        self._edges: list[ConversionEdge] = []
        self._variables: dict[int, int] = {}
        self._groups: dict[int, list[int]] = {}
        self._values: dict[int, int] = {}
        self._spaces: dict[int, SignatureSpace] = {}
        self._ndim = max(spec.device.ndim for spec in program.spec_table().values())
        self._build()
        self._choices: list[tuple] = [self._first_choice(node) for node in self._nodes]

    def run(self) -> ShardingAssignment:
        """Return the best shardings that were found."""
        least = float("inf")
        for _ in range(_ROUNDS):
            cost = min(self._choose_along(axis) for axis in range(self._ndim))
            if cost >= least:
                break
            least = cost
        choices = self._choices
        return ShardingAssignment(
            inputs={number: choices[node] for number, node in self._variables.items()},
            signatures={
                index: self._spaces[index].signature([choices[node] for node in nodes])
                for index, nodes in self._groups.items()
            },
            values={number: choices[node] for number, node in self._values.items()},
        )

    # --- nodes and edges

    def _build(self) -> None:
        program, constraints = self._program, self._constraints
        producer_of: dict[int, tuple[int, Port]] = {}
        users: dict[int, list[tuple[int, Port]]] = defaultdict(list)
        for number, spec in enumerate(program.inputs):
            if number in constraints.variables:
                self._variables[number] = node = self._add(TensorNode(spec, partial=False))
            else:
                node = self._add(FixedNode({ONLY_PORT: spec.sbp or ()}))
            producer_of[number] = (node, ONLY_PORT)
        sources = constraints.converted_values(program)
        for index, instruction in enumerate(program.instructions):
            if instruction.results[0] in sources:
                continue
            operands = [sources.get(number, number) for number in instruction.operands]
            by_operand, by_result = self._add_instruction(index, instruction)
            for position, node in by_operand.items():
                users[operands[position]].append((node, ("in", position)))
            for position, node in by_result.items():
                producer_of[instruction.results[position]] = (node, ("out", position))
        table = program.spec_table()
        for index, number in enumerate(program.outputs):
            variable = self._variables.get(constraints.updates.get(index, -1))
            if variable is None:
                variable = self._add(FixedNode({ONLY_PORT: table[number].sbp or ()}))
            users[sources.get(number, number)].append((variable, ONLY_PORT))
        for number, uses in users.items():
            self._connect(number, table[number], producer_of[number], uses)

    def _add(self, node: ShardingNode) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _add_instruction(
        self, index: int, instruction: Instruction
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Add an operation's nodes; their numbers by the position of operands and of results."""
        operation = instruction.operation
        by_operand: dict[int, int] = {}
        by_result: dict[int, int] = {}
        is_fixed = operation.primitive.traits.kind.has_fixed_sbp
        if not is_fixed:
            space = self._spaces[index] = SignatureSpace(operation)
            self._groups[index] = [
                self._add(ComputationNode(space, group)) for group in space.groups
            ]
            for node, group in zip(self._groups[index], space.groups, strict=True):
                by_operand.update((i, node) for i in group.inputs if not operation.is_scalar[i])
                by_result.update(dict.fromkeys(group.outputs, node))
        # Operands and results whose axes have no names at all are broadcast.
        rest: dict[Port, NdSbp] = {}
        for position, spec in enumerate(operation.in_specs):
            if position not in by_operand and not operation.is_scalar[position]:
                rest["in", position] = spec.sbp if is_fixed else operation.device.broadcast
        for position, spec in enumerate(operation.out_specs):
            if position not in by_result:
                rest["out", position] = spec.sbp if is_fixed else operation.device.broadcast
        if rest:
            node = self._add(FixedNode(rest))
            for side, position in rest:
                (by_operand if side == "in" else by_result)[position] = node
        return by_operand, by_result

    def _connect(
        self,
        number: int,
        spec: TensorSpec,
        producer: tuple[int, Port],
        uses: Sequence[tuple[int, Port]],
    ) -> None:
        """Add edges from the producer of a value to its users; several share one conversion."""
        source, port = producer
        others = {node for node, _ in uses} - {source}
        is_variable = isinstance(self._nodes[source], TensorNode)
        reduces = (
            spec.dtype not in HALF_DTYPES
            or spec.dtype is self._reduce_dtype
            or number in self._reduced
            or isinstance(self._nodes[source], FixedNode)
        )
        if self._shares_conversions and len(others) > 1 and not is_variable:
            shared = self._values[number] = self._add(TensorNode(spec, partial=True))
            self._edges.append(ConversionEdge(source, port, shared, ONLY_PORT, spec, reduces))
            source, port = shared, ONLY_PORT
        self._edges += [
            ConversionEdge(source, port, node, use, spec, reduces) for node, use in uses
        ]

    def _first_choice(self, node: ShardingNode) -> tuple:
        """The choice that is always possible: broadcast along every dimension of the mesh."""
        choice = BROADCAST if isinstance(node, TensorNode) else None
        return (choice,) * self._ndim

    # --- the search

    def _choose_along(self, axis: int) -> float:
        """Choose along one dimension of the mesh while the others are fixed.

        Returns:
            The time that the program takes then, in seconds.
        """
        possible = [
            [
                changed
                for choice in node.choices
                if node.is_possible(changed := (*choices[:axis], choice, *choices[axis + 1 :]))
            ]
            for node, choices in zip(self._nodes, self._choices, strict=True)
        ]
        start = [
            options.index(choice) for options, choice in zip(possible, self._choices, strict=True)
        ]
        costs = [
            np.array([node.seconds(choices, self._chip) for choices in options])
            for node, options in zip(self._nodes, possible, strict=True)
        ]
        pairs: dict[tuple[int, int], np.ndarray] = {}
        for edge in self._edges:
            table = self._conversion_costs(edge, possible[edge.source], possible[edge.target])
            if edge.source == edge.target:
                costs[edge.source] = costs[edge.source] + table.diagonal()
                continue
            key, reverse = (edge.source, edge.target), (edge.target, edge.source)
            if reverse in pairs:
                pairs[reverse] = pairs[reverse] + table.T
            else:
                pairs[key] = pairs[key] + table if key in pairs else table
        states = minimize(costs, pairs, start)
        self._choices = [options[state] for options, state in zip(possible, states, strict=True)]
        return total(costs, pairs, states)

    def _conversion_costs(
        self, edge: ConversionEdge, before: list[tuple], after: list[tuple]
    ) -> np.ndarray:
        """Seconds of the conversion, for all choices at both ends."""
        sources = [self._nodes[edge.source].sharding(edge.out_port, choice) for choice in before]
        targets = [self._nodes[edge.target].sharding(edge.in_port, choice) for choice in after]
        return np.array(
            [
                [
                    boxing_seconds(self._chip, edge.spec, source, target)
                    if edge.reduces or not _reduces(source, target)
                    else math.inf
                    for target in targets
                ]
                for source in sources
            ]
        )


def _reduces(source: NdSbp, target: NdSbp) -> bool:
    """Return whether a conversion adds up partial sums."""
    pairs = zip(source, target, strict=True)
    return any(before is PARTIAL_SUM and after is not PARTIAL_SUM for before, after in pairs)


def _reduced_values(program: Program, constraints: ShardingConstraints) -> set[int]:
    """The values whose partial sums the program adds up, before any cast of theirs."""
    sources = constraints.converted_values(program)
    return {
        sources.get(instruction.operands[0], instruction.operands[0])
        for instruction in program.instructions
        if instruction.operation.primitive.traits.kind is Kind.BOXING
        and _reduces(*(instruction.operation.attributes[end] for end in ("source", "target")))
    }
