"""Updates that do not happen when a check has failed, within a compiled program.

Choosing between the old and the new value of everything at the end costs a pass over all parameters
and lets XLA write nothing in place: an optimizer's new parameter is computed from its new momentum,
and both are chosen from old values, so that XLA copies all of them first (the step of a perceptron
of 784-512-512-10 features took a fifth longer). Instead each value is chosen where it is computed,
so that everything computed from it reads the chosen one; and of what writes some elements into an
array, these elements are chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base import cluster
from oneflow.compiler.check_rows import check_rows
from oneflow.primitives.jax_primitives import (
    IDENTITIES,
    RESHAPES,
    SCATTER_REDUCTIONS,
    called_jaxpr,
)
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.update_unless_failed import update_unless_failed
from oneflow.program.ir import Instruction, Program, checks_before, replacements

Checked = Sequence[tuple[Operation, Sequence[Any]]]

# Steps whose results have the elements of their operands, in order.
_SAME_ELEMENTS = IDENTITIES | RESHAPES


class CheckedUpdates:
    """Evaluates the instructions of a program while it is traced, see `walk`.

    Args:
        program: the program.
        all_reduce_or: makes "a check has failed" the same on all devices.
        failed: a check before the program has failed; None if that is not known.
    """

    def __init__(
        self, program: Program, all_reduce_or: Callable[[Any], Any], failed: Any = None
    ) -> None:
        self._all_reduce_or = all_reduce_or
        self._failed_before = failed
        # For a number of checks: how many lie in earlier segments, and the rows of the others.
        self._segments: dict[int, tuple[int, jax.Array]] = {}
        self._failed: dict[int, jax.Array] = {}
        # The old values by the new ones that are chosen where they are computed.
        self._olds = {
            new: old
            for operation, old, new in replacements(program)
            if operation.primitive is not update_unless_failed
        }
        # New values that are chosen there, by the results of the `update_unless_failed` for them.
        self._replacements: dict[int, int] = {}
        explicit = [
            instruction
            for instruction in program.instructions
            if instruction.operation.primitive is update_unless_failed
        ]
        use_counts = Counter(update.operands[1] for update in explicit)
        checks = checks_before(program)
        for update in explicit:
            old, new = update.operands
            old = self._replacements.get(old, old)
            previous = self._olds.get(new)
            early = previous is None and old < new and use_counts[new] == 1
            if early and checks.get(new) == update.operation.attributes["checks"]:
                self._olds[new] = old
            if self._olds.get(new) == old:
                self._replacements[update.results[0]] = new

    def rows(self, checked: Checked) -> jax.Array:
        """The rows of the checks so far, see `check_rows`."""
        end, parts = len(checked), []
        while end or not parts:
            end, rows = self._segment(checked[:end])
            parts.append(rows)
        return jnp.concatenate(parts[::-1])

    def _segment(self, checked: Checked) -> tuple[int, jax.Array]:
        """The rows of the last of some checks, and how many come before those.

        The checks before an update are those before the update before it, and a few more. Only
        these are computed, else a program of many updates would grow with their square.
        """
        count = len(checked)
        if count not in self._segments:
            start = max(
                (segment_end for segment_end in self._segments if segment_end < count), default=0
            )
            self._segments[count] = start, check_rows(checked[start:])
        return self._segments[count]

    def evaluate(
        self,
        instruction: Instruction,
        operands: Sequence[Any],
        environment: Mapping[int, Any],
        checked: Checked,
    ) -> Sequence[Any]:
        """The results of one instruction."""
        operation = instruction.operation
        if operation.primitive is update_unless_failed:
            old, new = operands
            # A task of a pipeline may have none of the checks.
            before = checked[: operation.attributes["checks"]]
            if instruction.results[0] in self._replacements or not self._can_fail(before):
                return (new,)
            return (jnp.where(self.has_failed(before), old, new),)
        old_values = {
            place: environment[self._olds[number]]
            for place, number in enumerate(instruction.results)
            if number in self._olds
        }
        if not old_values or not self._can_fail(checked):
            results = operation.evaluate(*operands)
            return (results,) if operation.single else results
        return unless(self.has_failed(checked), operation.evaluate, operands, old_values)

    def _can_fail(self, checked: Checked) -> bool:
        return bool(checked) or self._failed_before is not None

    def has_failed(self, checked: Checked) -> Any:
        """Return whether one of these checks, or an earlier one, has failed on any device."""
        count = len(checked)
        failed = self._failed_before
        if not count and not cluster.is_multiprocess():  # all devices have the same
            return failed
        if count not in self._failed:
            if count:
                start, rows = self._segment(checked)
                local_failed = rows.reshape(-1, 2)[:, 0].any()
                failed = self.has_failed(checked[:start]) if start else failed
                failed = local_failed if failed is None else failed | local_failed
            self._failed[count] = self._all_reduce_or(failed)
        return self._failed[count]


def unless(
    failed: jax.Array, function: Callable, operands: Sequence[Any], old_values: Mapping[int, Any]
) -> list[Any]:
    """The results of a function, but with old values for some of them if something has failed.

    Args:
        failed: a truth value.
        function: a function of the operands.
        operands: arrays.
        old_values: by the place of the result.
    """
    if not any(old is operand for old in old_values.values() for operand in operands):
        results = function(*operands)
        results = list(results) if isinstance(results, tuple | list) else [results]
        return [
            jnp.where(failed, old_values[place], result) if place in old_values else result
            for place, result in enumerate(results)
        ]
    closed = jax.make_jaxpr(function)(*operands)
    return _GuardedEvaluator(failed).run(closed, operands, old_values)


class _GuardedEvaluator:
    """Evaluates jaxprs, some of whose values are chosen the moment they are there."""

    def __init__(self, failed: jax.Array) -> None:
        self._failed = failed
        # Arrays that are others in another shape: those, by identity.
        self._origins: dict[int, tuple[Any, Any]] = {}

    def run(self, closed: Any, operands: Sequence[Any], old_values: Mapping[int, Any]) -> list[Any]:
        """The results of a jaxpr, or the `old_values` (by place) if something has failed."""
        jaxpr = getattr(closed, "jaxpr", closed)
        values = dict(zip(jaxpr.constvars, getattr(closed, "consts", ()), strict=True))
        values.update(zip(jaxpr.invars, operands, strict=True))
        old_by_variable = self._old_by_variable(jaxpr, old_values)
        for equation in jaxpr.eqns:
            operand_values = [_read(atom, values) for atom in equation.invars]
            old_by_place = {
                place: old_by_variable[variable]
                for place, variable in enumerate(equation.outvars)
                if variable in old_by_variable
            }
            results = self._evaluate(equation, operand_values, old_by_place)
            values.update(zip(equation.outvars, results, strict=True))
        computed = {variable for equation in jaxpr.eqns for variable in equation.outvars}
        results = [_read(atom, values) for atom in jaxpr.outvars]
        for place, old in old_values.items():
            if jaxpr.outvars[place] not in computed:
                results[place] = self._choose(old, results[place])
        return results

    def _old_by_variable(self, jaxpr: Any, old_values: Mapping[int, Any]) -> dict[Any, Any]:
        """The old values by the variables that are to be chosen."""
        defining_eqns = {outvar: equation for equation in jaxpr.eqns for outvar in equation.outvars}
        old_by_variable: dict[Any, Any] = {}
        for place, old in old_values.items():
            variable = jaxpr.outvars[place]
            producer = defining_eqns.get(variable)
            while producer is not None and producer.primitive.name in _SAME_ELEMENTS:
                inner = producer.invars[producer.outvars.index(variable)]
                if inner not in defining_eqns or inner in old_by_variable:
                    break
                if inner.aval.shape != old.shape:
                    old = self._derived(lax.reshape(old, inner.aval.shape), old)
                variable, producer = inner, defining_eqns[inner]
            if producer is not None:
                old_by_variable[variable] = old
        return old_by_variable

    def _evaluate(
        self, equation: Any, operands: list[Any], old_values: Mapping[int, Any]
    ) -> Sequence[Any]:
        name = equation.primitive.name
        if not old_values:
            results = _eval_eqn(equation, operands)
            if name in _SAME_ELEMENTS:
                for result, operand in zip(results, operands, strict=True):
                    self._derived(result, operand)
            return results
        called = called_jaxpr(name, equation.params)
        if called is not None:
            return self.run(called, operands, old_values)
        if 0 in old_values and self._is(operands[0], old_values[0]):
            if name == "dynamic_update_slice":
                operand, update, *starts = operands
                old_slice = lax.dynamic_slice(operand, starts, update.shape)
                return _eval_eqn(equation, [operand, self._choose(old_slice, update), *starts])
            if name in SCATTER_REDUCTIONS and _can_miss(operands[0], operands[1]):
                return self._scatter_guarded(equation, operands)
        results = list(_eval_eqn(equation, operands))
        for place, old in old_values.items():
            results[place] = self._choose(old, results[place])
        return results

    def _scatter_guarded(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        """The result of a `scatter`, which writes nothing if a check has failed."""
        operand, indices, updates = operands
        outside = jnp.iinfo(indices.dtype).max
        drop = {"mode": lax.GatherScatterMode.FILL_OR_DROP}
        return _eval_eqn(
            equation,
            [operand, self._choose(jnp.full_like(indices, outside), indices), updates],
            drop,
        )

    def _choose(self, old: Any, new: Any) -> Any:
        return jnp.where(self._failed, old, new)

    def _derived(self, array: Any, origin: Any) -> Any:
        """Note that an array is another one in another shape; returns it."""
        self._origins[id(array)] = array, self._origins.get(id(origin), (origin, origin))[1]
        return array

    def _is(self, array: Any, old: Any) -> bool:
        """Return whether an array is an old value."""
        first = self._origins.get(id(array), (array, array))[1]
        second = self._origins.get(id(old), (old, old))[1]
        return first is second and array.shape == old.shape


def _can_miss(operand: Any, indices: Any) -> bool:
    """Return whether an index is outside of an array."""
    return indices.shape[-1] > 0 and jnp.iinfo(indices.dtype).max > max(operand.shape)


def _read(atom: Any, values: Mapping[Any, Any]) -> Any:
    # A literal; `jax.extend`, which names its class, imports Pallas too.
    return atom.val if hasattr(atom, "val") else values[atom]


def _eval_eqn(equation: Any, operands: Sequence[Any], changed: Mapping[str, Any] = {}) -> list[Any]:
    """The results of an equation of a jaxpr."""
    parameters = equation.primitive.get_bind_params({**equation.params, **changed})
    with equation.ctx.manager:
        results = equation.primitive.bind(*operands, **parameters)
    return list(results) if equation.primitive.multiple_results else [results]
