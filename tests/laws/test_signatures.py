"""Every primitive under every signature that is derived for it gives what it gives unsplit.

What is tested is what the samples of the operator table and the calls of `layer_calls` record,
gradients included. Operands are put on a mesh as a signature of `candidates` says, the operation is
evaluated as the compiler does it, and what every device holds then is compared with the whole.
Sizes of the samples often do not divide: parts are uneven.

By default every primitive is tried with one of its signatures on each of two small meshes, other
ones for every primitive. ``--exhaustive`` tries all, and the gradients made by `jax.vjp`, whose
signatures follow from those of the primitive. XLA then computes what it does by default, one of the
signatures of each operation on the two small meshes; for the others, which are fifty thousand and
would take an hour to compile, NumPy computes what each device does.
"""

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import oneflow as flow
from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, Split, split
from oneflow.primitives.operation import Operation, Signature
from oneflow.primitives.registry import PRIMITIVES
from oneflow.primitives.sharding.axes import axes_of
from oneflow.primitives.sharding.linearity import linear_operands
from oneflow.primitives.sharding.signatures import candidates
from oneflow.program.ir import Instruction
from tests import sampling
from tests.laws.parts import (
    as_tuple,
    described,
    difference_of,
    differences,
    evaluated,
    interpreted,
    on_placement,
    with_signature,
)
from tests.laws.recording import (
    QUICKLY,
    RecordedProgram,
    of_recorded_programs,
    record,
    recorded_programs,
    source_of,
)

pytestmark = of_recorded_programs

MESHES = PAIR, SQUARE, *_ = [
    flow.placement("cpu", np.arange(math.prod(sizes)).reshape(sizes))
    for sizes in ((2,), (2, 2), (4,), (8,), (2, 4))
]
# Primitives tested together, and operations run by one executable: compiling takes the time.
AT_ONCE, OPERATIONS_AT_ONCE = 48, 100
SAMPLED_GROUPS = 1

NAMES = sorted(
    n for n, primitive in PRIMITIVES.items() if not primitive.impl.__module__.startswith("tests")
)
GROUPS = [NAMES[start : start + AT_ONCE] for start in range(0, len(NAMES), AT_ONCE)]


@dataclass
class Sample:
    """One recorded instruction.

    Attributes:
        program: in which it is.
        instruction: which one.
        split: the operations by which its parts are computed.
        whole: its operands and results, once they are known.
    """

    program: RecordedProgram
    instruction: Instruction
    split: dict[Placement, list[Operation]]
    whole: Any = None

    def operands(self, inputs: list) -> list:
        """The whole operands when the program starts from `inputs`."""
        return list(map(jax.numpy.asarray, self.program.operands(self.instruction, inputs)))


def signatures_on(operation: Operation) -> Iterator[Signature]:
    """The signatures of an operation on a placement, but for the one without parts."""
    for signature in candidates(operation):
        every = {component for sbp in (*signature.inputs, *signature.outputs) for component in sbp}
        if every != {BROADCAST}:
            yield signature


def pattern_of(operation: Operation) -> tuple:
    """The key by which operations of one primitive differ here."""
    axes = axes_of(operation)
    attributes = (
        str(operation.attributes) if operation.primitive.traits.positional is not None else ""
    )
    names = (axes.inputs, axes.outputs) if axes else None
    return (operation.primitive.name, names, linear_operands(operation), attributes)


def chosen(operation: Operation, exhaustive: bool) -> dict[Placement, list[Operation]]:
    """The operations on placements by which an operation is tried."""
    rng = random.Random(repr(operation))
    most: dict[Placement, int | None] = {PAIR: 1, SQUARE: 1}
    if exhaustive:
        most = dict.fromkeys(MESHES)
    elif operation.primitive.elementwise:  # All of them are alike.
        most = {rng.choice([PAIR, SQUARE]): 1}
    found = {}
    for mesh, count in most.items():
        moved = on_placement(operation, mesh)
        every = list(signatures_on(moved))
        rng.shuffle(every)
        every.sort(key=sums_parts, reverse=True)
        found[mesh] = [with_signature(moved, signature) for signature in every[:count]]
    return found


def sums_parts(signature: Signature) -> bool:
    """Test if a dimension is split over which there is a sum: most can go wrong there."""
    given = {type(component) for sbp in signature.inputs for component in sbp}
    return Split in given and any(PARTIAL_SUM in sbp for sbp in signature.outputs)


@pytest.fixture(scope="module")
def recorded(request: pytest.FixtureRequest) -> dict[str, list[Sample]]:
    """Per primitive: samples of it or of its gradients, each with names none has had yet."""
    exhaustive = request.config.getoption("--exhaustive")
    found: dict[str, list[Sample]] = {}
    patterns, seen = set(), set()
    for program in recorded_programs():
        for instruction in program.instructions:
            operation, source = instruction.operation, source_of(instruction.operation)
            name = operation.primitive.name
            if not exhaustive and (name in seen or operation.primitive is not source):
                continue
            pattern = pattern_of(operation)
            if pattern in patterns:
                continue
            split = chosen(operation, exhaustive)
            if any(split.values()):
                patterns.add(pattern)
                seen.add(name)
                found.setdefault(source.name, []).append(Sample(program, instruction, split))
    return found


def compute_wholes(samples: list[Sample]) -> None:
    """Fills in the operands and results of samples."""

    def compute(inputs: list) -> list:
        found = []
        for sample, given in zip(samples, inputs, strict=True):
            operation, operands = sample.instruction.operation, sample.operands(given)
            found.append((operands, as_tuple(operation, operation.evaluate(*operands))))
        return found

    inputs = [sample.program.inputs for sample in samples]
    results = jax.jit(compute).lower(inputs).compile(compiler_options=QUICKLY)(inputs)
    for sample, whole in zip(samples, results, strict=True):
        sample.whole = jax.tree.map(np.asarray, whole)


def batches(things: list) -> list[list]:
    return [things[n : n + OPERATIONS_AT_ONCE] for n in range(0, len(things), OPERATIONS_AT_ONCE)]


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: f"{names[0]}-{names[-1]}")
@pytest.mark.parametrize("placement", MESHES, ids=lambda mesh: "x".join(map(str, mesh.hierarchy)))
def test_parts_equal_the_whole(
    recorded: dict[str, list[Sample]],
    placement: Placement,
    names: list[str],
    sample: sampling.Sample,
) -> None:
    turns = itertools.product(MESHES, GROUPS)
    sample.take_turns(turns, (placement, names), SAMPLED_GROUPS)
    samples = [call for name in names for call in recorded.get(name, ())]
    tried = [call for call in samples if call.split.get(placement)]
    for batch in batches([call for call in tried if call.whole is None]):
        compute_wholes(batch)
    compiled, problems = [], []
    for call in tried:
        for number, operation in enumerate(call.split[placement]):
            found = interpreted(operation, call.whole[0])
            if found is not None:
                problems += differences_of(operation, found, call.whole[1])
            if found is None or not (number or placement not in (PAIR, SQUARE)):
                compiled.append((operation, *call.whole))
    for batch in batches(compiled):
        problems += problems_of(*zip(*batch, strict=True))
    assert not problems, "\n".join(problems)


def problems_of(operations: Any, operands: Any, expected: Any) -> list[str]:
    """The differences of operations on parts from the expected results; also the exceptions."""
    try:
        found = evaluated(operations, operands)
    except Exception as error:
        if len(operations) == 1:
            return [f"{described(operations[0])}: {type(error).__name__}: {error}"]
        halves = slice(len(operations) // 2), slice(len(operations) // 2, None)
        return [
            problem
            for half in halves
            for problem in problems_of(operations[half], operands[half], expected[half])
        ]
    return [
        problem
        for case in zip(operations, found, expected, strict=True)
        for problem in differences_of(*case)
    ]


def differences_of(operation: Operation, found: Any, expected: Any) -> list[str]:
    """The differences of what devices hold of the results from the expected ones."""
    return [
        f"{described(operation)}: {problem}"
        for spec, shards, whole in zip(operation.out_specs, found, expected, strict=True)
        for problem in differences(shards, whole, spec, difference_of)
    ]


def test_wrong_signatures_are_found() -> None:
    (program,) = record(lambda: flow.arange(12.0).reshape(3, 4).softmax(1))
    instruction = program.instructions[-1]
    sample = Sample(program, instruction, {})
    compute_wholes([sample])
    operands, expected = sample.whole
    moved = on_placement(instruction.operation, PAIR)
    for dim, is_right in ((0, True), (1, False)):
        layout = (split(dim),)
        parts = with_signature(moved, Signature((layout,), (layout,), moved.attributes))
        found = interpreted(parts, operands)
        assert differences_of(parts, found, expected) is not is_right
        assert problems_of([parts], [operands], [expected]) is not is_right
