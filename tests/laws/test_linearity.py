"""Partial sums: every declared set of operands is linear, and what is linear is declared.

Both are tried on what the samples of the operator table and the calls of `layer_calls` record,
gradients included: f(a + b) is compared with f(a) + f(b) for each declared set, and for single
tensors, pairs and all together that nobody declared.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from oneflow.primitives.operation import operand_positions
from oneflow.primitives.registry import PRIMITIVES
from oneflow.primitives.sharding.axes import forward_operation
from oneflow.primitives.sharding.linearity import linear_operands
from tests.laws.recording import QUICKLY, of_recorded_programs, recorded_programs, source_of

pytestmark = of_recorded_programs

# Operands linear in almost all numbers, or not worth saying: names, "|" between sets.
NOT_DECLARED = {
    "the old value takes its place where a check has failed": {"update_unless_failed": "new"},
    "not for all numbers": {
        "nansum": "x",
        "nanmean": "x",
        "nan_to_num": "x",
        "where_finite": "g|g x",
        "nextafter": "x|x y",
        "xlogy": "x",
        "xlog1py": "x",
    },
    "an operand that its primitive needs whole": {
        "exp_gradient": "out",
        "exp2_gradient": "out",
        "square_gradient": "x",
        "square_gradient_vjp": "cotangent x",
        "pow_y_gradient": "out|g y|y out",
    },
    "a second result is a flag": {"solve": "b", "slogdet_vjp": "g1"},
    "parameters and weights of classes are never partial sums": {
        "sgd_update": "*operands",
        "sgdw_update": "*operands",
        "sum_of_label_weights": "weight",
    },
    "noise is drawn in parts, and deviations are checked": {
        "normal_of_noise": "noise mean|mean std"
    },
    "everything is written": {"select_update": "values"},
}
# Operations of one primitive that are tried.
MAX_CASES = 3
# Primitives tested by one executable: compiling is what takes the time, small ones above all.
AT_ONCE = 16
SAMPLED_GROUPS = 1
# Results of the rows of one set: f(a), f(b), f(a + b).
ROWS = 3
# With which sets that are searched for are tried once more.
ATTEMPTS = 2


def is_inexact(spec):
    return spec.dtype.is_floating_point or spec.dtype.is_complex


def has_truth_values(operation, chosen):
    """Test if an operand cannot be a partial sum for its type."""
    return any(operation.in_specs[n].dtype.name == "bool" for n in chosen)


def tensors_of(operation):
    """Positions of the operands that could be partial sums of floats."""
    pairs = zip(operation.in_specs, operation.is_scalar, strict=True)
    return [n for n, (spec, scalar) in enumerate(pairs) if is_inexact(spec) and not scalar]


def searched_sets(operation, declared):
    """The sets that must be declared if they are linear.

    Not those with a declared set in them: if they are linear, the rest of them is not even read.
    """
    if not all(map(is_inexact, operation.out_specs)):
        return []
    tensors = tensors_of(operation)
    sizes = {1, 2, len(tensors)} - {0}
    sets = [frozenset(s) for size in sizes for s in itertools.combinations(tensors, size)]
    return [candidate for candidate in sets if not any(inner <= candidate for inner in declared)]


def pattern_of(operation):
    """The key by which operations of one primitive differ here."""
    attributes = operation.attributes
    if operation.primitive.vjp_of is not None:
        attributes = {**attributes, "attributes": None}
    categories = [spec.dtype.category for spec in operation.in_specs]
    return (operation.primitive.name, str(attributes), str(categories), len(categories))


def package():
    """Primitives of the package by name."""
    own = PRIMITIVES.items()
    return [
        (name, primitive)
        for name, primitive in own
        if not primitive.impl.__module__.startswith("tests")
    ]


NAMES = sorted(name for name, _ in package())
GROUPS = [NAMES[start : start + AT_ONCE] for start in range(0, len(NAMES), AT_ONCE)]


@pytest.fixture(scope="module")
def recorded():
    """Per primitive: operations on it or its gradients that differ in attributes or kinds."""
    found, patterns, counts = {}, set(), {}
    for program in recorded_programs():
        for instruction in program.instructions:
            operation, source = instruction.operation, source_of(instruction.operation)
            name, pattern = operation.primitive.name, pattern_of(operation)
            most = MAX_CASES if operation.primitive is source else 1
            if (
                counts.get(name, 0) == most
                or pattern in patterns
                or not operation.out_specs[0].numel
            ):
                continue
            sets = linear_operands(operation)
            others = searched_sets(operation, sets)
            sets = [candidate for candidate in sets if not has_truth_values(operation, candidate)]
            if sets or others:
                patterns.add(pattern)
                counts[name] = counts.get(name, 0) + 1
                found.setdefault(source.name, []).append((program, instruction, sets, others))
    return found


def similar(random, array):
    """Random numbers of an array's shape and type; what is not a number stays."""
    array = np.asarray(array)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind in "iu":
        return random.integers(0, 4, array.shape).astype(array.dtype)
    numbers = random.normal(size=array.shape)
    if np.iscomplexobj(array):
        numbers = numbers + 1j * random.normal(size=array.shape)
    return np.asarray(numbers).astype(array.dtype)


def rows_of(operation, operands, sets, others):
    """Operands of every evaluation along a new first dimension.

    The operands outside a set are those of the sample. Sets that are searched for are tried again
    with random ones, because a sample may write into zeros or scale by 1.
    """
    random = np.random.default_rng(0)
    floats = [n for n, spec in enumerate(operation.in_specs) if is_inexact(spec)]
    rows = []
    for attempt in range(1 + ATTEMPTS):
        held = operands
        if attempt:
            held = [
                similar(random, array) if n in floats else array for n, array in enumerate(held)
            ]
        first, second = ([similar(random, operand) for operand in operands] for _ in range(2))
        together = [a + b for a, b in zip(first, second, strict=True)]
        for chosen in others if attempt else (*sets, *others):
            rows += [
                [own[n] if n in chosen else array for n, array in enumerate(held)]
                for own in (first, second, together)
            ]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def evaluated(cases, rows):
    """Per case the results of all rows: arrays with a first dimension of rows."""

    def compute(rows):
        results = []
        for (_, instruction, *_), operands in zip(cases, rows, strict=True):
            operation = instruction.operation

            def step(state, own, operation=operation):
                found = operation.primitive.implementation("cpu")(*own, **operation.attributes)
                return state, (found,) if operation.single else tuple(found)

            results.append(lax.scan(step, None, operands)[1])
        return results

    return jax.jit(compute).lower(rows).compile(compiler_options=QUICKLY)(rows)


def is_additive(operation, results, place):
    """Test if f(a) + f(b) = f(a + b) in all results; None where that says nothing."""
    telling, error = False, rounding(operation)
    for result in results:
        first, second, together = np.asarray(result)[place * ROWS :][:ROWS]
        with np.errstate(all="ignore"):
            total = (first + second).astype(first.dtype)
        finite = np.isfinite(total)
        if np.any(finite != np.isfinite(together)):
            return False
        total, together = total[finite], together[finite]
        telling |= bool(np.any(together != 0))
        size = 0 if total.dtype.kind in "biu" else np.max(np.abs(total), initial=1)
        if not np.all(np.isclose(together, total, 0, size * error)):
            return False
    return True if telling else None


def rounding(operation):
    """The error relative to the largest number that the coarsest type may make."""
    specs = (*operation.in_specs, *operation.out_specs)
    steps = [float(jnp.finfo(s.dtype.numpy).eps) for s in specs if is_inexact(s)]
    return 200 * max(steps, default=0) ** 0.75


def written(operation, chosen):
    """Operands by name; those of the primitive behind a gradient, then `g0`, `g1`, ..."""
    if operation.primitive.vjp_of is not None:
        count = operation.attributes["inputs"]
        inner = [n for n in chosen if n < count]
        behind = written(forward_operation(operation), inner) if inner else ""
        return " ".join([*behind.split(), *(f"g{n - count}" for n in sorted(chosen) if n >= count)])
    found = []
    for name, positions in operand_positions(operation).items():
        inside = [n for n in positions if n in chosen]
        if len(positions) == 1 or len(inside) < len(positions):
            found += [name if len(positions) == 1 else f"{name}{n - positions[0]}" for n in inside]
        elif inside:
            found.append(f"*{name}")
    return " ".join(found)


def verdicts(cases):
    """The problems of declared sets, and per undeclared set what was found about it."""
    rows = [
        rows_of(i.operation, list(map(np.asarray, program.operands(i, program.inputs))), *sets)
        for program, i, *sets in cases
    ]
    problems, searched = [], {}
    for (_, instruction, sets, others), results in zip(cases, evaluated(cases, rows), strict=True):
        operation = instruction.operation
        for place, chosen in enumerate(sets):
            if is_additive(operation, results, place) is False:
                problems.append(f"{operation} is not linear in {written(operation, chosen)!r}")
        for place, chosen in enumerate(others * (1 + ATTEMPTS), len(sets)):
            key = (operation.primitive.name, written(operation, chosen))
            searched.setdefault(key, []).append(is_additive(operation, results, place))
    return problems, searched


def explained(name):
    texts = (names.get(name, "") for names in NOT_DECLARED.values())
    return {word for text in texts for word in text.split("|")}


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: f"{names[0]}-{names[-1]}")
def test_linearity(recorded, names, sample):
    sample.take_turns(GROUPS, names, SAMPLED_GROUPS)
    cases = [case for name in names for case in recorded.get(name, ())]
    problems, searched = verdicts(cases)
    for (name, operands), found in searched.items():
        if any(found) and False not in found and operands not in explained(name):
            problems.append(f"`{name}` is linear in {operands!r}, which it does not declare")
    assert not problems, "\n".join(problems)


def test_declared_sets_are_tried(recorded):
    declared = {name for name, primitive in package() if primitive.linear}
    tried = {case[1].operation.primitive.name for cases in recorded.values() for case in cases}
    assert sorted(declared - tried) == []
