"""A jaxpr as a flat list of NumPy calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.interpreter.rules import RULES, UnsupportedEquation, dtype_of, shape_of
from oneflow.primitives.tracing import CALLS

# Primitives whose results are their operands.
_IDENTITY_NAMES = frozenset(
    ("hidden", "optimization_barrier", "copy", "copy_p", "stop_gradient", "name", "pvary")
)

# A function, where its operands and its result (or results) are, and what nothing needs after it.
_Step = tuple[Callable[..., Any], tuple[int, ...], int | tuple[int, ...], tuple[int, ...]]


class FlatJaxpr:
    """A jaxpr as a function of NumPy arrays.

    Calls within it are inlined. Operands are never written to; results can be views of them.
    Floating point errors are NumPy's to report: call it within ``np.errstate(all="ignore")``.

    Args:
        closed: the jaxpr with its constants, or one without constants.

    Raises:
        NotInterpretable: some primitive has no rule.
    """

    __slots__ = ("_count", "_outputs", "_start", "_steps")

    def __init__(self, closed: Any) -> None:
        builder = _FlatJaxprBuilder(closed)
        self._count = builder.count
        self._outputs = builder.outputs
        self._steps: list[_Step] = builder.steps_with_live_ranges()
        # The slots before the first step, after those of the operands.
        self._start = builder.slots[self._count :]

    def __call__(self, *operands: Any) -> list[Any]:
        """The results of the jaxpr."""
        slots = [*operands, *self._start]
        for function, sources, target, dead in self._steps:
            if isinstance(target, int):
                slots[target] = function(*[slots[each] for each in sources])
            else:
                results = function(*[slots[each] for each in sources])
                for place, result in zip(target, results, strict=True):
                    slots[place] = result
            for place in dead:
                slots[place] = None
        return [slots[place] for place in self._outputs]


class _FlatJaxprBuilder:
    """Gives every value of a jaxpr a slot, and every equation its function.

    Attributes:
        slots: the constants in their slots, None in all others.
        outputs: slots of the results.
        count: how many operands there are, in the first slots.
    """

    def __init__(self, closed: Any) -> None:
        self.count = len(getattr(closed, "jaxpr", closed).invars)
        self.slots: list[Any] = [None] * self.count
        self._steps: list[tuple[Callable[..., Any], tuple[int, ...], int | tuple[int, ...]]] = []
        self._literals: dict[tuple, int] = {}
        self.outputs = self._inline(closed, list(range(len(self.slots))))

    def _inline(self, closed: Any, operands: Sequence[int]) -> list[int]:
        """Append the steps of a jaxpr; returns where its results are."""
        jaxpr = getattr(closed, "jaxpr", closed)
        consts = getattr(closed, "consts", ())
        scope = dict(zip(jaxpr.invars, operands, strict=True))
        for var, value in zip(jaxpr.constvars, consts, strict=True):
            scope[var] = self._constant(np.asarray(value))
        for equation in jaxpr.eqns:
            sources = [self._source(atom, scope) for atom in equation.invars]
            scope.update(zip(equation.outvars, self._add(equation, sources), strict=True))
        return [self._source(atom, scope) for atom in jaxpr.outvars]

    def _add(self, equation: Any, sources: list[int]) -> list[int]:
        """Append the steps of an equation; returns where its results are."""
        name = equation.primitive.name
        if name in _IDENTITY_NAMES:
            return sources
        if name in CALLS and CALLS[name] in equation.params:
            return self._inline(equation.params[CALLS[name]], sources)
        rule = RULES.get(name)
        if rule is None:
            raise UnsupportedEquation(f"`{name}` of JAX has no rule")
        for atom in (*equation.invars, *equation.outvars):
            shape_of(atom)
            dtype_of(atom)
        function = rule(equation)
        targets = [self._slot() for _ in equation.outvars]
        multiple = equation.primitive.multiple_results
        self._steps.append((function, tuple(sources), tuple(targets) if multiple else targets[0]))
        return targets

    def _source(self, atom: Any, scope: dict[Any, int]) -> int:
        """The slot of a variable or literal."""
        if not hasattr(atom, "val"):
            return scope[atom]
        dtype = dtype_of(atom)
        key = (dtype, np.asarray(atom.val).tobytes(), shape_of(atom))
        if key not in self._literals:
            self._literals[key] = self._constant(np.asarray(atom.val, dtype))
        return self._literals[key]

    def _constant(self, value: np.ndarray) -> int:
        self.slots.append(value)
        return len(self.slots) - 1

    def _slot(self) -> int:
        self.slots.append(None)
        return len(self.slots) - 1

    def steps_with_live_ranges(self) -> list[_Step]:
        """The steps, with the slots that are free after each; those of no use are left out."""
        wanted, chosen = set(self.outputs), []
        for step in reversed(self._steps):
            targets = (step[2],) if isinstance(step[2], int) else step[2]
            if wanted.isdisjoint(targets):
                continue
            unused = {each for each in (*step[1], *targets) if each not in wanted}
            wanted.update(step[1])
            chosen.append((*step, tuple(sorted(unused))))
        defined = {each for _, _, target in self._steps for each in _as_tuple(target)}
        defined.update(range(self.count))
        chosen.reverse()
        # Constants stay for the next call.
        return [
            (f, s, t, tuple(each for each in unused if each in defined))
            for f, s, t, unused in chosen
        ]


def _as_tuple(target: int | tuple[int, ...]) -> tuple[int, ...]:
    return (target,) if isinstance(target, int) else target
