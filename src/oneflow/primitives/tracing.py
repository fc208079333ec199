"""Implementations as JAX traces them: the shapes they give, and the steps they take."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import core
from jax.api_util import debug_info
from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic

from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.spec import require_size
from oneflow.primitives.jax_primitives import CALLS, is_across_elements
from oneflow.primitives.symbolic_size import shape_at


class ClosedJaxpr(NamedTuple):
    """A jaxpr and its constants, under the names that JAX's own has."""

    jaxpr: Any
    consts: Sequence[Any]

    @property
    def out_avals(self) -> list[Any]:
        """Shapes and dtypes of the results."""
        return [each.aval for each in self.jaxpr.outvars]


class TracedJaxpr:
    """A jaxpr that JAX has traced, maybe with symbolic sizes.

    Attributes:
        closed: the jaxpr; None once the interpreter has a template.
        results: shapes and dtypes of what it returns.
        template: what the interpreter has prepared of it; None before, False if it lacks a rule.
    """

    __slots__ = ("closed", "results", "template")

    def __init__(self, closed: Any, results: Any) -> None:
        self.closed = closed
        self.results = results
        self.template: Any = None


class Traced:
    """An implementation as traced by JAX.

    Attributes:
        source: the jaxpr.
        sizes: the numbers for its symbolic sizes.
        numpy_function: on NumPy; None while it is not made, False if there is none.
        elementwise: it was traced on arrays without dimensions and holds for all shapes that
            broadcast.
        broadcasts: it has been seen to take operands of different shapes.
    """

    __slots__ = ("broadcasts", "elementwise", "numpy_function", "sizes", "source")

    def __init__(self, source: TracedJaxpr, sizes: Sequence[int] = ()) -> None:
        self.source = source
        self.sizes = sizes
        self.numpy_function: Any = None
        self.elementwise = False
        self.broadcasts = False

    @property
    def results(self) -> Any:
        """Shapes and dtypes of what the implementation returns."""
        return jax.tree.map(
            lambda each: jax.ShapeDtypeStruct(shape_at(each.shape, self.sizes), each.dtype),
            self.source.results,
        )


class TracedParts(Traced):
    """An implementation that is several calls of itself, each traced for its operands.

    Attributes:
        parts: the operand positions of each call, and its trace. It gives the next results.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[tuple[tuple[int, ...], Traced]]) -> None:
        super().__init__(TracedJaxpr(None, None))
        self.parts = parts

    @property
    def results(self) -> tuple[Any, ...]:
        """Shapes and dtypes of the results of all calls."""
        return tuple([result for _, each in self.parts for result in each.results])


class TracingTime:
    """The time that tracing has taken in this process.

    Attributes:
        seconds: all together.
    """

    seconds = 0.0


def trace(name: str, function: Callable, operands: Sequence[jax.ShapeDtypeStruct]) -> Traced:
    """Trace a function of arrays; nothing is computed.

    Args:
        name: of the operator that it implements.
        function: takes and returns arrays.
        operands: shapes and dtypes of what it takes.

    Raises:
        RuntimeError: an array that it makes, the results included, is too large for XLA, which
            would end the process.
    """
    closed, results = make_jaxpr(function, operands)
    require_sizes(name, ((each.shape, each.dtype) for each in arrays_of(closed)))
    return Traced(TracedJaxpr(closed, results))


class _FlatFunction:
    """A function of arrays as JAX's tracing takes it: what it returns is a list.

    Attributes:
        debug_info: what JAX tells of it in errors.
        is_single: what it has returned was one array.

    Args:
        function: takes arrays; returns an array, or a tuple of them.
        operands: shapes and dtypes of what it takes.
    """

    def __init__(self, function: Callable, operands: Sequence[jax.ShapeDtypeStruct]) -> None:
        info = debug_info("make_jaxpr", function, operands, {})
        self.debug_info = info._replace(result_paths=None)  # not known
        self.is_single = False
        self._function = function

    def call_wrapped(self, *arrays: Any) -> Sequence[Any]:
        """The results for arrays, or for what stands for them while it is traced."""
        results = self._function(*arrays)
        self.is_single = not isinstance(results, tuple | list)
        return [results] if self.is_single else results


def make_jaxpr(
    function: Callable,
    operands: Sequence[jax.ShapeDtypeStruct],
    context: contextlib.AbstractContextManager[None] | None = None,
) -> tuple[ClosedJaxpr, Any]:
    """Trace a function of arrays, without `jax.jit`.

    Most functions of `jax.numpy` are jitted, down to the addition of two arrays. That each then has
    a jaxpr of its own helps nobody here, and takes JAX as long as all the rest. `jax.make_jaxpr`
    is `jax.jit` too: for an operator of one step that is most of the time.

    Args:
        function: takes arrays; returns an array, or a tuple of them.
        operands: shapes and dtypes of what it takes.
        context: entered on the thread that traces.

    Returns:
        The closed jaxpr, and shapes and dtypes of what the function returns.
    """

    def run() -> tuple[ClosedJaxpr, Any]:
        flat: Any = _FlatFunction(function, operands)
        with context or contextlib.nullcontext(), jax.disable_jit():
            avals = [core.ShapedArray(each.shape, each.dtype) for each in operands]
            jaxpr, results, consts = trace_to_jaxpr_dynamic(flat, avals)
            if hasattr(jaxpr, "with_consts"):
                # Releases of JAX after 0.10, whose jaxprs hold their constants.
                jaxpr = jaxpr.with_consts(consts)
        return ClosedJaxpr(jaxpr, consts), results[0] if flat.is_single else tuple(results)

    before = time.perf_counter()
    try:
        return run_without_interrupt(run)
    finally:
        TracingTime.seconds += time.perf_counter() - before


def require_sizes(name: str, arrays: Iterable[tuple[tuple[int, ...], Any]]) -> None:
    """Check that arrays of these shapes and dtypes can exist, see `require_size`."""
    for shape, dtype in arrays:
        require_size(name, shape, dtype)


@functools.lru_cache(maxsize=1 << 14)
def trace_elementwise(
    name: str,
    function: Callable,
    dtypes: tuple[np.dtype, ...],
    attributes: tuple[tuple[str, Any], ...],
) -> Traced | None:
    """Trace a function of arrays that computes each element by itself, once for all shapes.

    Args:
        name: of the operator that it implements.
        function: takes and returns arrays, which broadcast.
        dtypes: of what it takes.
        attributes: its keyword arguments.

    Returns:
        The trace; None if it fails, or takes a step that depends on more than one element.
    """
    scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
    try:
        traced = trace(name, lambda *operands: function(*operands, **dict(attributes)), scalars)
    except (TypeError, ValueError, OverflowError):
        return None
    traced.elementwise = True
    return traced if _is_elementwise(traced.source.closed.jaxpr) else None


def _is_elementwise(jaxpr: Any) -> bool:
    """Return True if a jaxpr without dimensions holds for each element of larger arrays."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        inner = sub_jaxprs(equation)
        if inner and name not in CALLS:
            return False
        if is_across_elements(name):
            return False
        if any(each.aval.shape for each in (*equation.invars, *equation.outvars)):
            return False
        if not all(map(_is_elementwise, inner)):
            return False
    return True


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many constants and carried values an equation of `scan` has.

    Args:
        params: of the equation, as any release of JAX states them.
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(constants), len(carried)


def linear_solver(params: Mapping[str, Any], operands: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the jaxpr that an equation of a linear solve runs, and those of its operands it takes.

    Args:
        params: of the equation.
        operands: constants of the matrix, its transpose and of both solvers, then the right sides.
    """
    counts = params["const_lengths"]
    start = counts.matvec + counts.vecmat
    constants = operands[start : start + counts.solve]
    return params["jaxprs"].solve, [*constants, *operands[sum(counts) :]]


def arrays_of(closed: Any) -> Iterator[Any]:
    """Shape and dtype of every array that a closed jaxpr makes, results included."""
    yield from closed.out_avals
    yield from _arrays(closed.jaxpr)


def _arrays(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield from (each.aval for each in equation.outvars)
        for body in sub_jaxprs(equation):
            yield from _arrays(body)


def sub_jaxprs(equation: Any) -> list[Any]:
    """The steps inside a step: loops, branches and calls."""
    return [each for each in map(_body, _parameters(equation)) if each is not None]


def _parameters(equation: Any) -> list[Any]:
    """The parameters of a step, those in tuples (the branches of a condition) one by one."""
    flat: list[Any] = []
    for value in equation.params.values():
        flat += value if isinstance(value, tuple | list) else [value]
    return flat


def _body(parameter: Any) -> Any:
    """The steps inside a step, if the parameter holds some."""
    inner = getattr(parameter, "jaxpr", parameter)
    return inner if hasattr(inner, "eqns") else None
