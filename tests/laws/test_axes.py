"""Every primitive's axis notation by its definition: the parts together equal the whole."""

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.spec import spec_of
from oneflow.primitives.axes import Axes, axes_of, notation
from oneflow.primitives.elementwise import add, where
from oneflow.primitives.indexing import index
from oneflow.primitives.matmul import linear, linear_no_bias, matmul, outer_rows
from oneflow.primitives.operation import make_operation
from oneflow.primitives.rearrange import roll, tril
from oneflow.primitives.reduce import amax, logsumexp, mean, prod, sum_
from oneflow.primitives.scatter import gather, scatter_add
from oneflow.primitives.shape import (
    broadcast_to,
    concat,
    flip,
    pad,
    reshape,
    select,
    select_update,
    slice_,
    slice_update,
    split,
    stack,
    transpose,
    unbind,
)
from oneflow.primitives.softmax import log_softmax, softmax
from oneflow.primitives.sorting import sort, topk

POSITIONS = np.array([[0, 5], [1, 1], [3, 0], [5, 2]])

CASES = [
    (add, [(4, 6), (6,)], {}),
    (add, [(4, 1), (1, 6)], {}),
    (where, [(4, 6), (4, 6), ()], {}),
    (sum_, [(4, 6, 2)], {"dims": (1,)}),
    (sum_, [(4, 6)], {"dims": (0, 1), "keepdim": True}),
    (mean, [(4, 6)], {"dims": (1,)}),
    (amax, [(4, 6)], {"dims": (0,), "keepdim": True}),
    (prod, [(4, 6)], {"dims": (0,)}),
    (logsumexp, [(4, 6)], {"dims": (1,)}),
    (matmul, [(4, 6), (6, 2)], {}),
    (matmul, [(2, 4, 6), (6, 2)], {}),
    (matmul, [(2, 1, 4, 6), (4, 6, 2)], {}),
    (matmul, [(6,), (6, 2)], {}),
    (matmul, [(4, 6), (6,)], {}),
    (matmul, [(6,), (6,)], {}),
    (linear, [(4, 6), (2, 6), (2,)], {}),
    (linear_no_bias, [(2, 4, 6), (2, 6)], {}),
    (outer_rows, [(4, 2), (4, 6)], {}),
    (transpose, [(4, 6, 2)], {"perm": (2, 0, 1)}),
    (reshape, [(4, 6, 2)], {"shape": (24, 2)}),
    (reshape, [(24, 2)], {"shape": (4, 6, 2)}),
    (reshape, [(4, 6)], {"shape": (4, 1, 6)}),
    (broadcast_to, [(4, 1)], {"shape": (2, 4, 6)}),
    (concat, [(4, 2), (4, 6)], {"dim": 1}),
    (split, [(4, 6)], {"sizes": (2, 4), "dim": 1}),
    (flip, [(4, 6)], {"dims": (0,)}),
    (slice_, [(4, 6), 1], {"dims": (0,), "sizes": (2,), "steps": (1,)}),
    (slice_update, [(4, 6), (2, 6), 1], {"dims": (0,), "steps": (1,)}),
    (softmax, [(4, 6)], {"dim": 1}),
    (log_softmax, [(4, 6)], {"dim": 0}),
    (select, [(4, 6, 2), 1], {"dims": (1,)}),
    (select_update, [(4, 6, 2), (4, 2), 1], {"dims": (1,)}),
    (stack, [(4, 6), (4, 6)], {"dim": 1}),
    (unbind, [(4, 2, 6)], {"dim": 1}),
    (pad, [(4, 6), ()], {"low": (0, 1), "high": (0, 2), "interior": (0, 0)}),
    (tril, [(4, 3, 3), 0], {}),
    (roll, [(4, 6), 2], {"dims": (1,)}),
    (gather, [(4, 6), POSITIONS], {"dim": 1}),
    (scatter_add, [(4, 6), (4, 2), POSITIONS], {"dim": 1}),
    (index, [(6, 4), POSITIONS], {"dims": (0,)}),
    (index, [(2, 6, 6, 4), POSITIONS, POSITIONS], {"dims": (1, 2)}),
    (index, [(6, 4, 6), POSITIONS, POSITIONS], {"dims": (0, 2)}),
    (sort, [(4, 6)], {"dim": 1, "descending": False}),
    (topk, [(4, 6)], {"k": 2, "dim": 1}),
]


def operands_of(shapes):
    """Random arrays for shapes; numbers and arrays stay what they are."""
    rng = np.random.default_rng(0)
    return [
        each if isinstance(each, int | np.ndarray) else rng.standard_normal(each).astype(np.float32)
        for each in shapes
    ]


def operation_of(primitive, operands, attributes):
    specs = [
        each
        if isinstance(each, int)
        else spec_of(each.shape, from_numpy_dtype(each.dtype), flow.device("cpu"))
        for each in operands
    ]
    return make_operation(primitive, tuple(specs), attributes)


def part(array, names, name, index):
    """Half `index` of the dimensions called `name`."""
    for dim, each in enumerate(names):
        if each == name:
            array = np.split(array, 2, axis=dim)[index]
    return array


def run_parts(operation, axes: Axes, operands, name):
    """Results of both halves of `name`."""
    results = []
    for half in range(2):
        halves = [
            each if isinstance(each, int) else part(each, names, name, half)
            for each, names in zip(operands, axes.inputs, strict=True)
        ]
        attributes = dict(operation.attributes)
        if "shape" in attributes:
            attributes["shape"] = tuple(
                size // 2 if each == name else size
                for size, each in zip(attributes["shape"], axes.outputs[0], strict=True)
            )
        result = operation.primitive.impl(*halves, **attributes)
        results.append(result if isinstance(result, tuple) else (result,))
    return results


@pytest.mark.parametrize(
    ("primitive", "shapes", "attributes"),
    CASES,
    ids=[f"{p.name}{number}" for number, (p, _, _) in enumerate(CASES)],
)
def test_split_equals_whole(primitive, shapes, attributes):
    operands = operands_of(shapes)
    operation = operation_of(primitive, operands, attributes)
    axes = axes_of(operation)
    whole = operation.evaluate(*operands)
    whole = whole if isinstance(whole, tuple) else (whole,)
    for name in axes.names():
        first, second = run_parts(operation, axes, operands, name)
        for out, names, one, two in zip(whole, axes.outputs, first, second, strict=True):
            together = np.concatenate([one, two], names.index(name)) if name in names else one + two
            np.testing.assert_allclose(together, out, rtol=1e-5, atol=1e-5, err_msg=name)


def test_contracted_names_are_partial_sums():
    operation = operation_of(matmul, operands_of([(4, 6), (6, 2)]), {})
    axes = axes_of(operation)
    assert axes.names() == ["m", "k", "n"]
    assert [axes.is_summed(name) for name in axes.names()] == [False, True, False]


def test_a_dimension_that_is_normalised_is_not_split():
    operation = operation_of(softmax, operands_of([(4, 6)]), {"dim": 1})
    assert axes_of(operation).names() == ["d0"]


def test_notation_marks_unsplittable_dimensions():
    operation = operation_of(matmul, operands_of([(4, 6), (6, 2)]), {})
    assert notation("m _, _ n -> m n")(operation).inputs == (("m", None), (None, "n"))
