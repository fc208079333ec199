"""Linearity: the sets of operands that partial sums may pass through.

A *partial sum* is a value whose parts, one per device, add up to what is meant. An operation may
be applied to the parts if it is linear in the operands that have them: ``f(a + b) = f(a) + f(b)``,
all other operands being whole and the same everywhere. `add` is so in both operands together and
in neither alone, `mul` in each alone, `add_scaled` (``x + a * y``) in x together with y, or with a.

Partial sums of truth values pass through nothing: "or" is not what operations are linear in.
Partial sums of integers pass to integers that are no wider: a sum of uint8 that wraps around is
another number than the sum of its addends.

A primitive declares sets of operand names, or a function of the operation where attributes or types
decide. The gradients that `jax.vjp` makes derive theirs from the primitive's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from oneflow.base.dtype import Category
from oneflow.primitives.operation import Operation, operand_positions
from oneflow.primitives.sharding.axes import forward_operation

Linearity = tuple[frozenset[int], ...]


def linear_operands(operation: Operation) -> Linearity:
    """Sets of operand positions in which an operation is jointly linear while the rest is fixed.

    A set may contain positions of Python numbers, which are never partial sums: such a set only
    says that the operation is not linear in the others alone.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.primitives.operators.elementwise import add, mul
        >>> from oneflow.primitives.sharding.linearity import linear_operands
        >>> from oneflow.primitives.operation import make_operation
        >>> from oneflow.tensor.views import unwrap
        >>> spec = unwrap(flow.empty(2)).spec
        >>> list(map(sorted, linear_operands(make_operation(add, (spec, spec), {}))))
        [[0, 1]]
        >>> list(map(sorted, linear_operands(make_operation(mul, (spec, 2.0), {}))))
        [[0], [1]]
    """
    return tuple(
        linear_set
        for linear_set in _linear_sets(operation)
        if linear_set and _preserves_sums(operation, linear_set)
    )


def _linear_sets(operation: Operation) -> Iterable[frozenset[int]]:
    """The sets that the primitive declares, regardless of dtypes."""
    primitive = operation.primitive
    if primitive.vjp_of is not None:
        return _vjp_linearity(operation)
    if callable(primitive.linear):
        return primitive.linear(operation)
    positions = operand_positions(operation)
    return [
        frozenset(position for name in names.split() for position in positions[name.lstrip("*")])
        for names in primitive.linear
    ]


def _preserves_sums(operation: Operation, operands: frozenset[int]) -> bool:
    """Return whether dtypes allow to add up the results of these operands' partial sums."""
    in_dtypes = [operation.in_specs[position].dtype for position in operands]
    out_dtypes = [spec.dtype for spec in operation.out_specs]
    if Category.BOOL in [dtype.category for dtype in (*in_dtypes, *out_dtypes)]:
        return False
    return all(
        after.category is Category.INTEGER and after.itemsize <= before.itemsize
        for before in in_dtypes
        if before.category is Category.INTEGER
        for after in out_dtypes
    )


def _vjp_linearity(operation: Operation) -> Linearity:
    """A gradient is linear in what arrives from behind; operands follow from the primitive.

    Let f be linear in a set of operands. Its gradient in another operand is linear in the set too,
    and its gradient in one of the set does not depend on the set. So gradients in operands of two
    such sets, as those of both factors of a product, are linear in the two together.
    """
    argnums = frozenset(operation.attributes["argnums"])
    cotangents = frozenset(range(operation.attributes["inputs"], len(operation.in_specs)))
    sets = linear_operands(forward_operation(operation))
    others = [linear_set for linear_set in sets if not linear_set & argnums]
    pairs = [
        first | second
        for first, second in itertools.combinations(sets, 2)
        if not first & second and first & argnums and second & argnums and argnums <= first | second
    ]
    return (cotangents, *others, *pairs)


# --- functions that primitives declare


def converted(operation: Operation) -> Linearity:
    """Linear, unless floats become integers."""
    before, after = operation.in_specs[0].dtype.category, operation.out_specs[0].dtype.category
    return () if before >= Category.FLOAT > after else (frozenset({0}),)


def linear_in_each(operation: Operation) -> Linearity:
    """A product of all operands."""
    return tuple(frozenset({position}) for position in range(len(operation.in_specs)))
