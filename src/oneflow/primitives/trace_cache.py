"""The cache of traces: symbolic sizes let one trace serve calls of many shapes.

Tracing an implementation takes JAX milliseconds; taking up a trace for other sizes takes a tenth.
A loop in which every step has another shape therefore traces each operator once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import jax
import numpy as np

from oneflow.primitives.symbolic_size import ShapeEnvironment
from oneflow.primitives.trace import Trace, trace

# Attributes that hold sizes in every primitive that has them.
SIZE_ATTRIBUTES = frozenset(("shape", "size", "sizes"))
# Traces of one kind of call, whose Python code takes different paths; kinds of calls; and kinds of
# calls that are traced without dimensions.
_MAX_TRACES, _MAX_KINDS, _MAX_ELEMENTWISE = 8, 2048, 1 << 14
# To find the sizes that must be numbers.
_MAX_ATTEMPTS = 8


class TraceCache:
    """The traces of this process.

    A *kind* of call is the call without its sizes: the operator, its implementation, rank and dtype
    of each operand, the attributes with the number of sizes in each that holds some, and the names
    of those.

    Attributes:
        by_kind: the traces of each kind of call; None where sizes must be numbers.
        seconds: the seconds that JAX has taken to trace.
    """

    def __init__(self) -> None:
        self.by_kind: dict[tuple, list[Trace] | None] = {}
        self.seconds = 0.0
        self._elementwise: dict[tuple, Trace | None] = {}

    def trace(
        self, name: str, function: Callable, operands: Sequence[Any], attributes: Mapping[str, Any]
    ) -> Trace:
        """Trace a function of arrays, or take up the trace that was made for other sizes.

        Args:
            name: the name of the operator that it implements.
            function: takes arrays and the attributes.
            operands: shapes and dtypes of what it takes.
            attributes: the attributes of the call.

        Raises:
            RuntimeError: an array that it makes is too large for XLA, which would end the process.
            Exception: what the function raises.
        """
        with_sizes = tuple([attribute for attribute in attributes if attribute in SIZE_ATTRIBUTES])
        failed = []
        call_trace: Trace | None = None
        for symbolic in (with_sizes, ()) if with_sizes else ((),):
            kind, sizes = _kind_and_sizes(name, function, operands, attributes, symbolic)
            traces = self.by_kind.setdefault(kind, [])
            if traces is None:
                continue
            call_trace = next(filter(None, (cached.at(sizes) for cached in traces)), None)
            if call_trace is not None:
                break
            shared = self._trace_any_sizes(kind, sizes) if len(traces) < _MAX_TRACES else None
            if shared is not None:
                # A guard may be a hash table's doing, which compares sizes that have nothing in
                # common: the new trace may serve what an older one was made for.
                others = [cached for cached in traces if not shared.is_valid_for(cached)]
                traces[:] = [*others, shared]
                call_trace = shared.at(sizes)
                break
            failed += [] if traces else [kind]
        if call_trace is None:
            call_trace = self._timed(lambda *arrays: function(*arrays, **attributes), operands)
        call_trace.require_sizes(name)
        # The call is right, and still fails with symbolic sizes.
        self.by_kind.update(dict.fromkeys(failed))
        if len(self.by_kind) > _MAX_KINDS:
            self.by_kind.clear()
        return call_trace

    def trace_elementwise(
        self,
        name: str,
        function: Callable,
        dtypes: tuple[np.dtype, ...],
        attributes: tuple[tuple[str, Any], ...],
    ) -> Trace | None:
        """Trace a function of arrays that computes each element by itself, once for all shapes.

        Args:
            name: the name of the operator that it implements.
            function: takes and returns arrays, which broadcast.
            dtypes: the dtypes of what it takes.
            attributes: its keyword arguments.

        Returns:
            The trace; None if it fails, or takes a step that depends on more than one element.
        """
        kind = name, function, dtypes, attributes
        with contextlib.suppress(KeyError):
            return self._elementwise[kind]
        scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
        element_trace: Trace | None = None
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            element_trace = self._timed(
                lambda *arrays: function(*arrays, **dict(attributes)), scalars
            )
            element_trace.elementwise = element_trace.is_elementwise()
            element_trace = element_trace if element_trace.elementwise else None
        if len(self._elementwise) > _MAX_ELEMENTWISE:
            self._elementwise.clear()
        self._elementwise[kind] = element_trace
        return element_trace

    def _trace_any_sizes(self, kind: tuple, sizes: Sequence[int]) -> Trace | None:
        """Trace a kind of call with symbolic sizes; None if something fails."""
        if not all(type(size) is int for size in sizes):
            return None
        # Sizes of 0 and 1 are fixed: they matter everywhere.
        fixed = {place for place, size in enumerate(sizes) if size < 2}
        needed: set[int] = set()
        for _ in range(_MAX_ATTEMPTS):
            environment = ShapeEnvironment(sizes, frozenset(fixed))
            try:
                symbolic_trace = self._timed(
                    *_with_symbols(kind, environment), environment.tracing()
                )
            except Exception as error:
                _drop_traceback(error)
                if not environment.needed:
                    return None
            else:
                if not environment.needed:
                    symbolic_trace.environment = environment
                    return symbolic_trace
            # Once can be a hash table's doing, in which other sizes lie elsewhere.
            fixed |= environment.needed & needed
            needed = environment.needed
        return None

    def _timed(self, *arguments: Any) -> Trace:
        """The result of `trace`, whose time is added up."""
        before = perf_counter()
        try:
            return trace(*arguments)
        finally:
            self.seconds += perf_counter() - before


TRACES = TraceCache()


def _kind_and_sizes(
    name: str,
    function: Callable,
    operands: Sequence[Any],
    attributes: Mapping[str, Any],
    symbolic: tuple[str, ...],
) -> tuple[tuple, list[int]]:
    """Take a call apart into its kind and its sizes, in which `symbolic` attributes hold some."""
    sizes = [size for operand in operands for size in operand.shape]
    rest = []
    for key, value in attributes.items():
        if key in symbolic:
            is_tuple = isinstance(value, tuple)
            sizes += value if is_tuple else (value,)
            value = len(value) if is_tuple else None
        rest.append((key, value))
    types = tuple([(len(operand.shape), operand.dtype) for operand in operands])
    return (name, function, types, tuple(rest), symbolic), sizes


def _with_symbols(kind: tuple, environment: ShapeEnvironment) -> tuple[Callable, list[Any]]:
    """The function of arrays and its operands, with the symbols of an environment as sizes."""
    _, function, types, rest, symbolic = kind
    symbols = iter(environment.symbols())
    operands = [
        jax.ShapeDtypeStruct(tuple([next(symbols) for _ in range(ndim)]), dtype)
        for ndim, dtype in types
    ]
    attributes = {key: _take(symbols, value) if key in symbolic else value for key, value in rest}
    return lambda *arrays: function(*arrays, **attributes), operands


def _take(symbols: Iterator[Any], count: int | None) -> Any:
    """A tuple of the next sizes, or the next one where there is no count."""
    return next(symbols) if count is None else tuple([next(symbols) for _ in range(count)])


def _drop_traceback(error: BaseException | None) -> None:
    """Let go of the frames that an error that is over refers to.

    JAX keeps errors in variables of such frames. Until the next garbage collection they would keep
    the frames of all callers alive, and so their tensors.
    """
    while error is not None:
        error.__traceback__ = None
        _drop_traceback(error.__cause__)
        error = error.__context__
