"""Traces with symbolic sizes, each of which serves many shapes.

Tracing an implementation takes JAX milliseconds; taking up a trace for other sizes takes a tenth.
A loop in which every step has another shape therefore traces each operator once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from oneflow.primitives.symbolic_size import ShapeEnvironment, shape_at
from oneflow.primitives.tracing import (
    Traced,
    TracedJaxpr,
    arrays_of,
    make_jaxpr,
    require_sizes,
    trace,
)

# Attributes that hold sizes in every primitive that has them.
SIZE_ATTRIBUTES = frozenset(("shape", "size", "sizes"))
# Traces of one kind of call, whose Python code takes different paths; and kinds of calls.
_MAX_TRACES, _MAX_KINDS = 8, 2048
# To find the sizes that must be numbers.
_MAX_ATTEMPTS = 8


class SharedTrace:
    """A trace with symbolic sizes.

    Args:
        name: of the operator.
        environment: its sizes.
        closed: the jaxpr.
        results: shapes and dtypes of what the implementation returns.
    """

    def __init__(self, name: str, environment: ShapeEnvironment, closed: Any, results: Any) -> None:
        self._name = name
        self._environment = environment
        self._source = TracedJaxpr(closed, results)
        self._arrays = {(each.shape, each.dtype) for each in arrays_of(closed)}

    def at(self, sizes: Sequence[int]) -> Traced | None:
        """The trace for these sizes; None if that would be another one.

        Raises:
            RuntimeError: an array is too large for XLA.
        """
        values = self._environment.evaluate(sizes)
        if values is None:
            return None
        require_sizes(
            self._name, ((shape_at(shape, values), dtype) for shape, dtype in self._arrays)
        )
        return Traced(self._source, values)

    def serves(self, other: SharedTrace) -> bool:
        """Return True if another trace, for its own sizes, would have been this one."""
        return self._environment.evaluate(other._environment.given) is not None


# By kind of call; None where sizes must be numbers.
TRACES: dict[tuple, list[SharedTrace] | None] = {}


def trace_at_any_sizes(
    name: str, function: Callable, operands: Sequence[Any], attributes: dict[str, Any]
) -> Traced:
    """Trace a function of arrays, or take up the trace that was made for other sizes.

    Args:
        name: of the operator that it implements.
        function: takes arrays and the attributes.
        operands: shapes and dtypes of what it takes.
        attributes: of the call.

    Raises:
        RuntimeError: an array that it makes is too large for XLA.
        Exception: what the function raises.
    """
    in_attributes = tuple([each for each in attributes if each in SIZE_ATTRIBUTES])
    failed = []
    traced: Traced | None = None
    for symbolic in (in_attributes, ()) if in_attributes else ((),):
        call = _Call(name, function, operands, attributes, symbolic)
        traces = TRACES.setdefault(call.kind, [])
        if traces is None:
            continue
        for shared in traces:
            traced = shared.at(call.sizes)
            if traced is not None:
                return traced
        shared = call.trace() if len(traces) < _MAX_TRACES else None
        if shared is not None:
            # A guard may be a hash table's doing, which compares sizes that have nothing in common.
            traces[:] = [*(each for each in traces if not shared.serves(each)), shared]
            traced = shared.at(call.sizes)
            break
        failed += [] if traces else [call.kind]
    if traced is None:
        traced = trace(name, lambda *arrays: function(*arrays, **attributes), operands)
    # The call is right, and still fails with symbolic sizes.
    TRACES.update(dict.fromkeys(failed))
    if len(TRACES) > _MAX_KINDS:
        TRACES.clear()
    return traced


class _Call:
    """A call of an implementation, taken apart into sizes and all the rest.

    Attributes:
        kind: all the rest.
        sizes: the sizes.
    """

    def __init__(
        self,
        name: str,
        function: Callable,
        operands: Sequence[Any],
        attributes: dict[str, Any],
        symbolic: tuple[str, ...],
    ) -> None:
        self._name = name
        self._function = function
        self._operands = tuple([(len(each.shape), each.dtype) for each in operands])
        self._attributes = attributes
        self._symbolic = symbolic
        self.sizes = [size for each in operands for size in each.shape]
        rest = []
        for key, value in attributes.items():
            if key in symbolic:
                is_tuple = isinstance(value, tuple)
                self.sizes += value if is_tuple else (value,)
                value = len(value) if is_tuple else None
            rest.append((key, value))
        self.kind = name, function, self._operands, tuple(rest), symbolic

    def trace(self) -> SharedTrace | None:
        """The trace with symbolic sizes; None if something fails."""
        if not all(type(size) is int for size in self.sizes):
            return None
        # Whether sizes are 0 or 1 matters everywhere.
        fixed = {place for place, size in enumerate(self.sizes) if size < 2}
        needed: set[int] = set()
        for _ in range(_MAX_ATTEMPTS):
            environment = ShapeEnvironment(self.sizes, frozenset(fixed))
            try:
                closed, results = self._make_jaxpr(environment)
            except Exception as error:
                _drop_traceback(error)
                if not environment.needed:
                    return None
            else:
                if not environment.needed:
                    return SharedTrace(self._name, environment, closed, results)
            # Once can be a hash table's doing, in which other sizes lie elsewhere.
            fixed |= environment.needed & needed
            needed = environment.needed
        return None

    def _make_jaxpr(self, environment: ShapeEnvironment) -> tuple[Any, Any]:
        """Trace with the symbols of an environment."""
        symbols = iter(environment.symbols())
        operands = [
            jax.ShapeDtypeStruct(tuple([next(symbols) for _ in range(ndim)]), dtype)
            for ndim, dtype in self._operands
        ]
        attributes = {
            name: _symbols_for(value, symbols) if name in self._symbolic else value
            for name, value in self._attributes.items()
        }
        return make_jaxpr(
            lambda *arrays: self._function(*arrays, **attributes), operands, environment.tracing()
        )


def _symbols_for(value: Any, symbols: Iterator[Any]) -> Any:
    """The next sizes, in place of a number or a tuple of numbers."""
    return tuple([next(symbols) for _ in value]) if isinstance(value, tuple) else next(symbols)


def _drop_traceback(error: BaseException | None) -> None:
    """Let go of the frames that an error that is over refers to.

    JAX keeps errors in variables of such frames. Until the next garbage collection they would keep
    the frames of all callers alive, and so their tensors.
    """
    while error is not None:
        error.__traceback__ = None
        _drop_traceback(error.__cause__)
        error = error.__context__
