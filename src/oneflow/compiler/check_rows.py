"""The run-time checks of a program in as few XLA operations as possible.

A model that looks up 26 small tables checks 26 vectors of positions. One by one that took XLA four
kernels each and more time than the lookups; equal checks are computed as one batch instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from oneflow.primitives.operation import Operation

# Operands with more elements are not stacked.
_MAX_ELEMENTS = 1 << 14


def check_rows(checked: Sequence[tuple[Operation, Sequence[Any]]]) -> jax.Array:
    """The checks of operations with their operands: rows ``(is_bad, value)`` of int64, in order."""
    by_operation: dict[Operation, list[int]] = defaultdict(list)
    for position, (operation, _) in enumerate(checked):
        by_operation[operation].append(position)
    tables, order = [], []
    for operation, positions in by_operation.items():
        tables += _tables(operation, [checked[position][1] for position in positions])
        order += positions
    rows = jnp.concatenate(tables)
    return rows if order == sorted(order) else rows[np.argsort(order)]


def _tables(operation: Operation, calls: list[Sequence[Any]]) -> list[jax.Array]:
    """The rows of the calls of one operation."""
    if len(calls) > 1 and _reads_little(operation, calls[0]):
        stacked = [jnp.stack(operands) for operands in zip(*calls, strict=True)]
        return [_table(*jax.vmap(operation.evaluate_check)(*stacked))]
    return [_table(*map(jnp.ravel, operation.evaluate_check(*operands))) for operands in calls]


def _table(bad: jax.Array, value: jax.Array) -> jax.Array:
    return jnp.stack([bad.astype(jnp.int64), value.astype(jnp.int64)], axis=-1)


def _reads_little(operation: Operation, operands: Sequence[Any]) -> bool:
    """Return whether the operands that a check reads are small; it reads no table of features."""
    check = jax.make_jaxpr(operation.evaluate_check)(*operands).jaxpr
    read = {id(atom) for step in check.eqns for atom in step.invars}
    return all(
        variable.aval.size <= _MAX_ELEMENTS for variable in check.invars if id(variable) in read
    )
