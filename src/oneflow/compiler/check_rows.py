"""The run-time checks of a program in as few XLA operations as possible.

A model that looks up 26 small tables checks 26 vectors of positions. One by one that took XLA four
kernels each and more time than the lookups; equal checks are computed as one batch instead. Layers
that read the same positions, and their gradients, check them once: the experts of a mixture, two
products and their gradients, had six checks of one vector.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr

from oneflow.primitives.operation import Operation

# Operands with more elements are not stacked.
_MAX_ELEMENTS = 1 << 14


def check_rows(checked: Sequence[tuple[Operation, Sequence[Any]]]) -> jax.Array:
    """The checks of operations with their operands: rows ``(is_bad, value)`` of int64, in order."""
    first = list(_first_equal(checked))
    by_operation: dict[Operation, list[int]] = defaultdict(list)
    for position in dict.fromkeys(first):
        by_operation[checked[position][0]].append(position)
    tables, order = [], []
    for operation, positions in by_operation.items():
        tables += _tables(operation, [checked[position][1] for position in positions])
        order += positions
    rows = jnp.concatenate(tables)
    places = {position: place for place, position in enumerate(order)}
    index = [places[position] for position in first]
    return rows if index == list(range(len(order))) else rows[np.array(index, np.int32)]


def _first_equal(checked: Sequence[tuple[Operation, Sequence[Any]]]) -> Iterator[int]:
    """For each check the position of the first one that computes the same of the same arrays."""
    reads = [set(map(id, operands)) for _, operands in checked]
    uses = Counter(number for numbers in reads for number in numbers)
    places: dict[Any, int] = {}
    for position, (operation, operands) in enumerate(checked):
        is_shared = any(uses[number] > 1 for number in reads[position])
        key = _computation(operation, operands) if is_shared else position
        yield places.setdefault(key, position)


def _computation(operation: Operation, operands: Sequence[Any]) -> Any:
    """A key of the steps of a check and of the arrays that they read."""
    check = jax.make_jaxpr(operation.evaluate_check)(*operands)
    steps, is_read = dce_jaxpr(check.jaxpr, [True] * len(check.jaxpr.outvars))
    read = tuple(id(x) for x, reads in zip(operands, is_read, strict=True) if reads)
    return object() if check.consts else (str(steps), read)


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
