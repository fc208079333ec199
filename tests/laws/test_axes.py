"""Every primitive's axis notation by its definition: the parts together equal the whole.

What is tested is what the samples of the operator table and the calls of `layer_calls` record,
gradients included. Nobody lists operations here: a primitive that says how it may be split must
appear among them, and one that says nothing must be explained below.
"""

import itertools

import numpy as np
import pytest

import oneflow as flow
from oneflow.primitives.axes import axes_of, notation
from oneflow.primitives.matmul import linear, matmul
from oneflow.primitives.operation import make_operation
from oneflow.primitives.registry import PRIMITIVES
from oneflow.primitives.softmax import softmax
from tests.laws.layer_calls import calls
from tests.laws.recording import record, record_samples, source_of
from tests.oracle import array_difference

WITHOUT_AXES = {
    # A part would have to know where in the whole it is.
    "values depend on the position in the whole": """
        range_integer range_float linspace eye random_uniform random_normal random_integer
        random_mask random_bernoulli random_exponential random_permutation random_multinomial
        random_cauchy random_geometric random_truncated_normal dropout alpha_dropout
        masked_scatter as_strided as_strided_update""",
    "every result depends on all elements, and not as a sum of parts": """
        median_of_all nanmedian_of_all total_norm clip_norm lamb_update power_iteration
        limit_rows""",
    "operands have no dimensions in common": "barrier pack_numbers",
}
# How many ways of splitting a primitive are tried: elementwise ones are all alike.
MOST_PATTERNS = 4


def declared():
    """The primitives of the package that say how they may be split."""
    return sorted(
        name
        for name, each in PRIMITIVES.items()
        if (each.elementwise or each.axes) and not each.impl.__module__.startswith("tests")
    )


def parts_of(operation, axes):
    """Into how many parts each name is cut here, for those that can be."""
    found = {}
    for name in axes.names():
        divisor = axes.divisor(operation, name)
        count = next((n for n in (2, 3, 5, 7) if divisor and divisor % n == 0), 1)
        if count > 1:
            found[name] = count
    return found


@pytest.fixture(scope="module")
def recorded():
    """Per primitive: operations on it or on its gradients, with a pattern each has not had yet."""
    found = {}
    patterns = set()
    counts = {}
    programs = itertools.chain(record_samples(), *map(record, calls()))
    for program in programs:
        for instruction in program.instructions:
            operation = instruction.operation
            axes = axes_of(operation)
            parts = parts_of(operation, axes) if axes else {}
            if not parts:
                continue
            primitive, source = operation.primitive, source_of(operation)
            pattern = (primitive.name, axes.inputs, axes.outputs, tuple(parts))
            most = 1 if source.elementwise else MOST_PATTERNS
            if pattern not in patterns and counts.get(primitive.name, 0) < most:
                patterns.add(pattern)
                counts[primitive.name] = counts.get(primitive.name, 0) + 1
                found.setdefault(source.name, []).append((program, instruction, axes, parts))
    return found


def part(array, names, name, count, index):
    """Part `index` of `count` of the dimensions called `name`."""
    for dim, each in enumerate(names):
        if each == name:
            array = np.split(array, count, axis=dim)[index]
    return array


def run(operation, operands, attributes):
    """Results as NumPy arrays, always a tuple."""
    results = operation.primitive.implementation("cpu")(*operands, **attributes)
    return tuple(map(np.asarray, (results,) if operation.single else results))


def difference_of_parts(operation, axes, operands, whole, name, count):
    """How the parts of `name`, joined or added up, differ from the whole; None if they do not."""
    attributes = axes.part_attributes(operation, name, count)
    pieces = [
        run(
            operation,
            [
                part(each, dims, name, count, index)
                for each, dims in zip(operands, axes.inputs, strict=True)
            ],
            attributes,
        )
        for index in range(count)
    ]
    for place, (expected, dims) in enumerate(zip(whole, axes.outputs, strict=True)):
        own = [each[place] for each in pieces]
        if axes.is_summed(name, place):
            together = sum(own)
        else:
            together = np.concatenate(own, dims.index(name))
        if together.shape != expected.shape:
            return f"result {place}: {together.shape}, expected {expected.shape}"
        problem = array_difference(together, expected, expected.dtype.name, 10)
        if problem:
            return f"result {place}: {problem}"
    return None


@pytest.mark.parametrize("name", declared())
def test_split_equals_whole(recorded, name):
    assert name in recorded, "no sample can be split; add one to tests/samples or layer_calls"
    problems = []
    for program, instruction, axes, parts in recorded[name]:
        operation = instruction.operation
        operands = program.operands(instruction)
        whole = run(operation, operands, operation.attributes)
        for axis, count in parts.items():
            problem = difference_of_parts(operation, axes, operands, whole, axis, count)
            if problem:
                problems.append(f"{operation} {axes} cut in {count} along {axis}: {problem}")
    assert not problems, "\n".join(problems)


def test_primitives_without_axes_are_explained():
    explained = sorted(name for names in WITHOUT_AXES.values() for name in names.split())
    package = {
        name: each
        for name, each in PRIMITIVES.items()
        if not each.impl.__module__.startswith("tests")
    }
    assert sorted(package.keys() - set(declared())) == explained


def operation_of(primitive, *shapes, **attributes):
    specs = tuple(flow.empty(*shape).value.spec for shape in shapes)
    return make_operation(primitive, specs, attributes)


def test_contracted_names_are_partial_sums():
    axes = axes_of(operation_of(matmul, (4, 6), (6, 2)))
    assert axes.names() == ["m", "k", "n"]
    assert [axes.is_summed(name) for name in axes.names()] == [False, True, False]


def test_what_is_added_once_may_not_be_a_partial_sum():
    assert axes_of(operation_of(linear, (4, 6), (2, 6), (2,))).inputs[0][1] is None


def test_a_dimension_that_is_normalised_is_not_split():
    assert axes_of(operation_of(softmax, (4, 6), dim=1)).names() == ["d0"]


def test_notation_marks_unsplittable_dimensions():
    operation = operation_of(matmul, (4, 6), (6, 2))
    assert notation("m _, _ n -> m n")(operation).inputs == (("m", None), (None, "n"))
