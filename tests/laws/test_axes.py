"""Every primitive's axis notation by its definition: the parts together equal the whole.

What is tested is what the samples of the operator table and the calls of `layer_calls` record,
gradients included. Nobody lists operations here: a primitive that says how it may be split must
appear among them, and one that says nothing must be explained below.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import oneflow as flow
import oneflow.nn.parallel  # registers primitives that nothing else imports
from oneflow.primitives.operation import make_operation, operand_positions
from oneflow.primitives.operators.matmul import linear, matmul
from oneflow.primitives.operators.softmax import softmax
from oneflow.primitives.registry import PRIMITIVES
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.sharding.axes import axes_of, notation
from oneflow.tensor.views import unwrap
from tests.laws.parts import difference_of
from tests.laws.recording import QUICKLY, of_recorded_programs, recorded_programs, source_of

pytestmark = of_recorded_programs

WITHOUT_AXES = {
    # A part would have to know where in the whole it is.
    "elements change their places, or must begin with a given one": """
        random_permutation masked_scatter as_strided as_strided_update
        bag_offsets""",
    "every result depends on all elements, and not as a sum of parts": """
        nms_mask median_of_all nanmedian_of_all total_norm clip_norm unscale lamb_update
        muon_update power_iteration limit_rows nonzero""",
    "which rows are read and written depends on values": """
        sgd_update_of_rows sgdw_update_of_rows adam_update_of_rows adamax_update_of_rows
        nadam_update_of_rows
        radam_update_of_rows adagrad_update_of_rows adadelta_update_of_rows rmsprop_update_of_rows
        rprop_update_of_rows ftrl_update_of_rows sparse_adam_update_of_rows asgd_update_of_rows
        gradient_of_rows rows_unless""",
    "has rules of its own": "boxing transfer",
    "a vector of everything that one process exchanges": "pack_bucket unpack_bucket",
    "operands are numbers": "pack_numbers wrap_index cast_in_range",
}

# Primitives tested by one executable: compiling is what takes the time, small ones above all.
AT_ONCE = 16


def declared():
    """The primitives of the package that say how they may be split."""
    return sorted(
        name
        for name, primitive in PRIMITIVES.items()
        if (primitive.elementwise or primitive.axes)
        and not primitive.impl.__module__.startswith("tests")
    )


def groups():
    """The declared primitives, some at a time."""
    names = declared()
    return [names[start : start + AT_ONCE] for start in range(0, len(names), AT_ONCE)]


def parts_of(operation, axes):
    """Into how many parts each name is cut here, for those that can be."""
    found = {}
    for name in axes.names():
        divisor = axes.divisor(operation, name)
        count = next((n for n in (2, 3, 5, 7) if divisor and divisor % n == 0), 1)
        if count > 1:
            found[name] = count
    return found


def most_patterns(primitive, source):
    """The number of ways of splitting that are tried.

    Elementwise primitives are all alike, but where positions count. The names of gradients made by
    `jax.vjp` follow from those of the primitive; it is enough to see that they do for one gradient
    of each.
    """
    if primitive.traits.positional is not None:
        return 4
    if primitive is source:
        return 1 if source.elementwise else 2
    first_order = primitive.vjp_of is source
    return 1 if first_order and not source.elementwise else 0


@pytest.fixture(scope="module")
def recorded():
    """Per primitive: operations on it or on its gradients, with a pattern each has not had yet."""
    found = {}
    patterns = set()
    counts = {}
    for program in recorded_programs():
        for instruction in program.instructions:
            operation = instruction.operation
            axes = axes_of(operation)
            parts = parts_of(operation, axes) if axes else {}
            if not parts:
                continue
            primitive, source = operation.primitive, source_of(operation)
            attributes = (
                str(operation.attributes) if primitive.traits.positional is not None else ""
            )
            pattern = (primitive.name, axes.inputs, axes.outputs, tuple(parts), attributes)
            most = most_patterns(primitive, source)
            if source.elementwise:
                parts = dict(list(parts.items())[:1])
            if pattern not in patterns and counts.get(primitive.name, 0) < most:
                patterns.add(pattern)
                counts[primitive.name] = counts.get(primitive.name, 0) + 1
                found.setdefault(source.name, []).append((program, instruction, axes, parts))
    return found


def stacked_parts(array, names, name, count, is_bias):
    """The `count` parts of the dimension called `name`, along a new first dimension."""
    if name not in names and is_bias:  # a partial sum: everything in the first part
        first = jnp.arange(count).reshape(-1, *[1] * array.ndim) == 0
        return jnp.where(first, array, jnp.zeros_like(array))
    if name not in names:
        return jnp.broadcast_to(array, (count, *array.shape))
    return jnp.stack(jnp.split(array, count, axis=names.index(name)))


def run(operation, operands, attributes):
    """Results, always a tuple."""
    results = operation.primitive.implementation("cpu")(*operands, **attributes)
    return (results,) if operation.single else tuple(results)


def shard_index(operation, axes, name, count, number):
    """The position of the shard of that number in the first result, or in the named operand."""
    operand = operation.primitive.traits.positional.operand
    spec, names = operation.out_specs[0], axes.outputs[0]
    if operand:
        (position,) = operand_positions(operation)[operand]
        spec, names = operation.in_specs[position], axes.inputs[position]
    shape = spec.shape
    offsets = [
        number * (size // count) if axis_name == name else 0
        for size, axis_name in zip(shape, names, strict=True)
    ]
    return ShardIndex(shape, tuple(offsets))


def joined_parts(operation, axes, operands, name, count):
    """The results of the parts of `name`, joined or added up as the notation says."""
    attributes = axes.shard_attributes(operation, {name: count})
    parts = [
        stacked_parts(operand, names, name, count, axes.is_reduced(name) and place in axes.biases)
        for place, (operand, names) in enumerate(zip(operands, axes.inputs, strict=True))
    ]

    def step(state, given):
        own, number = given
        position = {}
        if operation.primitive.traits.positional is not None:
            position["shard"] = shard_index(operation, axes, name, count, number)
        return state, run(operation, own, {**attributes, **position})

    # A loop is compiled once, not once per part.
    _, pieces = lax.scan(step, None, (parts, jnp.arange(count)))
    return tuple(joined(own, axes, name, place) for place, own in enumerate(pieces))


def joined(pieces, axes, name, place):
    """Result `place` of the parts of `name`: joined, added up, or unaffected."""
    if axes.is_reduced(name, place):
        return jnp.sum(pieces, 0, dtype=pieces.dtype)
    if name in axes.outputs[place]:
        return jnp.concatenate(list(pieces), axes.outputs[place].index(name))
    return pieces[0]


def wholes_and_parts(cases):
    """Per case the results of the whole operation and those of its parts, by name of the axis."""

    def compute(inputs):
        results = []
        for (program, instruction, axes, parts), given in zip(cases, inputs, strict=True):
            operation = instruction.operation
            operands = list(map(jnp.asarray, program.operands(instruction, given)))
            whole = run(operation, operands, operation.attributes)
            whole_again = {
                name: joined_parts(operation, axes, operands, name, count)
                for name, count in parts.items()
            }
            results.append((whole, whole_again))
        return results

    inputs = [program.inputs for program, *_ in cases]
    # Compiled in one piece: most of the time goes into compiling.
    return jax.jit(compute).lower(inputs).compile(compiler_options=QUICKLY)(inputs)


@pytest.mark.parametrize("names", groups(), ids=lambda names: f"{names[0]}-{names[-1]}")
def test_split_equals_whole(recorded, names):
    missing = [name for name in names if name not in recorded]
    assert not missing, "no sample can be split; add one to tests/samples or layer_calls"
    cases = [case for name in names for case in recorded[name]]
    problems = []
    for (_, instruction, axes, _), (whole, parts) in zip(
        cases, wholes_and_parts(cases), strict=True
    ):
        for axis, results in parts.items():
            for place, pair in enumerate(zip(results, whole, strict=True)):
                problem = difference_of(*map(np.asarray, pair))
                if problem:
                    what = f"{instruction.operation} split along {axis} as in {axes}"
                    problems.append(f"{what}: result {place}: {problem}")
    assert not problems, "\n".join(problems)


def test_primitives_without_axes_are_explained():
    explained = sorted(name for names in WITHOUT_AXES.values() for name in names.split())
    package = {
        name: primitive
        for name, primitive in PRIMITIVES.items()
        if not primitive.impl.__module__.startswith("tests")
    }
    assert sorted(package.keys() - set(declared())) == explained


def operation_of(primitive, *shapes, **attributes):
    specs = tuple(unwrap(flow.empty(*shape)).spec for shape in shapes)
    return make_operation(primitive, specs, attributes)


def test_contracted_names_are_partial_sums():
    axes = axes_of(operation_of(matmul, (4, 6), (6, 2)))
    assert axes.names() == ["m", "k", "n"]
    assert [axes.is_reduced(name) for name in axes.names()] == [False, True, False]


def test_what_is_added_once_is_marked():
    axes = axes_of(operation_of(linear, (4, 6), (2, 6), (2,)))
    assert axes.is_reduced("k")
    assert axes.biases == (2,)


def test_a_dimension_that_is_normalised_is_not_split():
    assert axes_of(operation_of(softmax, (4, 6), dim=1)).names() == ["d0"]


def test_notation_marks_unsplittable_dimensions():
    operation = operation_of(matmul, (4, 6), (6, 2))
    assert notation("m _, _ n -> m n")(operation).inputs == (("m", None), (None, "n"))
