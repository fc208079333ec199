"""The search for signatures that hold, and that nobody derives from axis notations.

For what the samples of the operator table and the calls of `layer_calls` record, every way of
giving operands to two devices is tried: whole, cut along a dimension (unevenly, if its size is
odd), or as partial sums. Where the results are the parts of the whole results, or add up to them,
that is a signature, and it must be among those that inference knows, or be explained below.

Found are those with which attributes stay as they are. Not searched are elementwise primitives,
which are split along any dimension; gradients made by `jax.vjp`, whose notations follow from those
of the primitive; and operations on several independent tensors, such as steps of optimizers. A few
primitives are searched by default, all of them with ``--exhaustive``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import oneflow as flow
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, Sbp, Split, split
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import PRIMITIVES
from oneflow.primitives.shard_shapes import shard_slices
from oneflow.primitives.sharding import signatures
from tests.laws.parts import as_tuple, on_placement, share_of
from tests.laws.recording import QUICKLY, of_recorded_programs, recorded_programs
from tests.oracle import array_difference

pytestmark = of_recorded_programs

PAIR = flow.placement("cpu", [0, 1])
# Signatures that notations leave out on purpose, by primitive; these are not searched.
NOT_DERIVED = {
    name: reason
    for reason, names in {
        "small, not worth splitting": "affine_grid quantile power_iteration",
        "a second result is whole, which is not a sum": "attention",
        "keys and features of values, as of `attention`": "attention_backward",
        "what is summed, beside a bias: `jax.vjp` would count its gradient twice": "bilinear",
        "where sizes stay, which the last dimension of others does not": "bitcast",
        "of one tensor": "concat",
        "whole batches of indices along the dimension that they index": """
            gather index index_put plane_gather plane_scatter scatter_add unpool""",
        "partial sums of what is none in training": """
            cross_entropy_probabilities nll pad scatter_multiply sum_of_label_weights""",
        "linear where nothing is missing": "nansum nanmean",
        "parameters are never partial sums": "sgd_update sgdw_update",
        "so in the sample alone, by its numbers": """
            clip_norm combined_margin cosine_similarity extreme_gradient fractional_max_pool
            gru_backward largest_size_gradient lstm_backward masked_scatter max_pool
            max_pool_gradient multilabel_margin nll_backward pairwise_distance prod qr
            random_bernoulli softmax_backward total_norm update_unless_failed""",
        "an operand of which only the shape is read": """
            overwrite attach_moments positions normalize normalize_gradient
            normalize_second_gradient""",
        "an operand whose values are checked, as a whole": "bag_offsets check_overlap",
        "operands that say that a result depends on them, and are not read": "without_derivative",
        "takes minutes": "ctc_backward",
    }.items()
    for name in names.split()
}
# Primitives searched together; one of them without `--exhaustive`.
AT_ONCE = 16
SAMPLED_GROUPS = 2
# Recorded calls in which a signature must hold, and combinations of operands that are tried.
CALLS, COMBINATIONS = 2, 300

Layouts = tuple[Sbp, ...]
# The layouts of the operands and of each result: in parts it may be several at once.
Hit = tuple[Layouts, tuple[frozenset[Sbp], ...]]


def part(whole: np.ndarray, sbp: Sbp, number: int) -> np.ndarray:
    """The part on the device of that number."""
    if sbp is PARTIAL_SUM:
        return share_of(whole, number, 2)
    return whole[shard_slices(whole.shape, (2,), (sbp,), (number,))]


def layouts_of(array: np.ndarray, is_scalar: bool) -> list[Sbp]:
    """The ways to give an operand to the devices."""
    if is_scalar or np.unique(array).size < 2:
        return [BROADCAST]
    cuts = [split(dim) for dim, size in enumerate(array.shape) if size > 1]
    return [BROADCAST, *cuts, *([PARTIAL_SUM] if array.dtype.kind in "fc" else [])]


def holds(parts: list[np.ndarray], whole: np.ndarray) -> frozenset[Sbp]:
    """The SBP by which results of the two devices make up the whole."""
    found = set()
    if all(tensor.shape == whole.shape for tensor in parts):
        if all(same(shard, whole) for shard in parts):
            found.add(BROADCAST)
        if whole.dtype.kind in "fc" and same(parts[0] + parts[1], whole):
            found.add(PARTIAL_SUM)
    for dim, size in enumerate(whole.shape):
        wanted = [part(whole, split(dim), number) for number in (0, 1)]
        if size > 1 and all(map(same, parts, wanted)):
            found.add(split(dim))
    return frozenset(found)


def same(mine: np.ndarray, whole: np.ndarray) -> bool:
    return mine.shape == whole.shape and not array_difference(mine, whole, whole.dtype.name, 10)


def combinations(choices: list[list[Sbp]]) -> Iterator[Layouts]:
    """Ways to give all operands: those with one that is not whole, then with two, ..."""
    places = [place for place, own in enumerate(choices) if len(own) > 1]
    for count in range(1, len(places) + 1):
        for chosen in itertools.combinations(places, count):
            for own in itertools.product(*(choices[place][1:] for place in chosen)):
                layouts = dict(zip(chosen, own, strict=True))
                yield tuple(layouts.get(place, BROADCAST) for place in range(len(choices)))


class Trial:
    """One recorded operation with its operands, computed on parts of any shapes."""

    def __init__(self, operation: Operation, operands: list[np.ndarray]) -> None:
        self.operation, self.operands = operation, operands
        self.compiled: dict[Any, Any] = {}
        self.whole = self.results(operands)

    def results(self, operands: list[np.ndarray]) -> Any:
        """The results of the operation, or None where it refuses."""
        shapes = tuple(operand.shape for operand in operands)
        if shapes not in self.compiled:
            self.compiled[shapes] = self._compile(operands)
        run = self.compiled[shapes]
        return None if run is None else [np.asarray(array) for array in run(*operands)]

    def _compile(self, operands: list[np.ndarray]) -> Any:
        def compute(*arrays: Any) -> tuple:
            return as_tuple(self.operation, self.operation.evaluate_unsharded(*arrays))

        try:
            shapes = [tuple(tensor.shape) for tensor in jax.eval_shape(compute, *operands)]
            specs = self.operation.out_specs
            if len(shapes) != len(specs) or not all(map(self._may_be_part, shapes, specs)):
                return None
            # Some sizes that are wrong, as for an inverse Fourier transform, JAX only sees here.
            return jax.jit(compute).lower(*operands).compile(compiler_options=QUICKLY)
        except Exception:
            return None

    @staticmethod
    def _may_be_part(shape: tuple[int, ...], spec: Any) -> bool:
        if len(shape) != spec.ndim:
            return False
        shorter = [(s, n) for s, n in zip(shape, spec.shape, strict=True) if s != n]
        return not shorter or (len(shorter) == 1 and shorter[0][0] in halves(shorter[0][1]))

    def hits(self) -> dict[Layouts, tuple[frozenset[Sbp], ...]]:
        """The signatures that hold; none where results tell too little."""
        telling = [
            np.any(tensor) if tensor.dtype.kind in "fc" else np.unique(tensor).size > 1
            for tensor in self.whole
        ]
        choices = list(map(layouts_of, self.operands, self.operation.is_scalar))
        found = {}
        for layouts in itertools.islice(combinations(choices), COMBINATIONS if all(telling) else 0):
            parts = []
            for number in (0, 1):
                own = [part(x, sbp, number) for x, sbp in zip(self.operands, layouts, strict=True)]
                parts.append(self.results(own))
                if parts[-1] is None:
                    break
            else:
                outputs = tuple(
                    holds([first, second], whole)
                    for first, second, whole in zip(*parts, self.whole, strict=True)
                )
                if all(outputs):
                    found[layouts] = outputs
        return found


def halves(size: int) -> tuple[int, int]:
    """Sizes of the two parts of a dimension."""
    return -(-size // 2), size // 2


def derived(operation: Operation, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Layouts, Layouts]]:
    """Operands and results under the signatures that inference knows, whatever the sizes."""
    monkeypatch.setattr(signatures, "_can_split", lambda *given: True)
    return [
        (tuple(sbp[0] for sbp in candidate.inputs), tuple(sbp[0] for sbp in candidate.outputs))
        for candidate in signatures.candidates(on_placement(operation, PAIR))
    ]


def is_covered(hit: Hit, known: list[tuple[Layouts, Layouts]]) -> bool:
    """Test if a known signature does as well: a whole tensor can be cut and summed for nothing."""
    inputs, outputs = hit
    return any(
        all(mine in (BROADCAST, theirs) for mine, theirs in zip(inputs, given, strict=True))
        and all(r is BROADCAST or r in mine for mine, r in zip(outputs, results, strict=True))
        for given, results in known
    )


def shown(hit: Hit) -> str:
    """A signature as text, such as ``S(0) B -> S(0)``."""
    inputs, outputs = hit
    order = [*sorted({s for o in outputs for s in o if isinstance(s, Split)}, key=str)]
    best = [next(s for s in (*order, BROADCAST, PARTIAL_SUM) if s in output) for output in outputs]
    return f"{' '.join(map(str, inputs))} -> {' '.join(map(str, best))}"


def missing(trials: list[Trial], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The signatures that hold in all of some calls of one kind, and are not derived."""
    hits = [trial.hits() for trial in trials]
    common = [
        (
            inputs,
            tuple(
                frozenset.intersection(*column)
                for column in zip(*(h[inputs] for h in hits), strict=True)
            ),
        )
        for inputs in hits[0]
        if all(inputs in hit for hit in hits)
    ]
    common = [hit for hit in common if all(hit[1])]
    known = derived(trials[0].operation, monkeypatch)
    own = [hit for hit in common if not is_covered(hit, known)]
    best = [
        hit
        for hit in own
        if not any(
            hit != o and is_covered(hit, [(o[0], outs)])
            for o in own
            for outs in itertools.product(*o[1])
        )
    ]
    return list(map(shown, best))


def kind_of(operation: Operation) -> tuple:
    """Calls of one kind have the same signatures."""
    dims = tuple(spec.ndim for spec in operation.in_specs)
    ones = tuple(tuple(size == 1 for size in spec.shape) for spec in operation.in_specs)
    kinds = tuple(spec.dtype.category for spec in operation.in_specs)
    sizes = {name: value for name, value in operation.attributes.items() if name != "dtype"}
    return (operation.primitive.name, dims, ones, kinds, str(sizes))


def searched(name: str) -> bool:
    primitive = PRIMITIVES[name]
    derived = primitive.elementwise or primitive.vjp_of is not None
    return not (derived or name in NOT_DERIVED or primitive.impl.__module__.startswith("tests"))


def is_several(operation: Operation) -> bool:
    """Test if its operands fall into groups that have nothing to do with each other."""
    return len(signatures.SignatureSpace(operation).groups) > 1


NAMES = sorted(filter(searched, PRIMITIVES))


GROUPS = [NAMES[start : start + AT_ONCE] for start in range(0, len(NAMES), AT_ONCE)]


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[tuple, list]]:
    """Per primitive and kind: recorded instructions."""
    found: dict[str, dict[tuple, list]] = {}
    for program in recorded_programs():
        for instruction in program.instructions:
            operation = instruction.operation
            sizes = [math.prod(s.shape) for s in (*operation.in_specs, *operation.out_specs)]
            if all(operation.is_scalar) or not all(sizes) or is_several(operation):
                continue
            kinds = found.setdefault(operation.primitive.name, {})
            kinds.setdefault(kind_of(operation), []).append((program, instruction))
    return found


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: f"{names[0]}-{names[-1]}")
def test_signatures_that_hold_are_derived(recorded, names, exhaustive, sample, monkeypatch):
    sample.take_turns(GROUPS, names, SAMPLED_GROUPS)
    problems = []
    for name in names if exhaustive else names[:1]:
        for calls in list(recorded.get(name, {}).values())[: 4 if exhaustive else 1]:
            trials = []
            for program, instruction in calls[:CALLS]:
                operands = program.operands(instruction, program.inputs)
                trials.append(Trial(instruction.operation, list(map(np.asarray, operands))))
            found = missing(trials, monkeypatch)
            problems += [f"{trials[0].operation}: {signature}" for signature in found]
    assert not problems, "\n".join(problems)
