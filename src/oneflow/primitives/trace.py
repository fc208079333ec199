"""Implementations as JAX traces them: the shapes they give, and the steps they take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import jax
from jax import core
from jax.api_util import debug_info
from jax.interpreters.partial_eval import trace_to_jaxpr_dynamic

from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.spec import require_size
from oneflow.primitives.jax_primitives import CALLS, is_across_elements
from oneflow.primitives.symbolic_size import ShapeEnvironment, shape_at


class Trace:
    """JAX's view of an implementation: a jaxpr, and the numbers for its symbolic sizes.

    Attributes:
        jaxpr: the steps, as JAX has traced them; None for an implementation that is several calls.
        consts: the constants of the jaxpr.
        returned: shapes and dtypes of what the implementation returns: one array, or a tuple.
        environment: the symbolic sizes of the jaxpr; None if there are none.
        sizes: the numbers for them.
        parts: the operand positions of each call, and its trace; the results follow each other,
            and the last operand belongs to some call.
        elementwise: it was traced on arrays without dimensions and holds for all shapes that
            broadcast.
        broadcasts: it has been seen to take operands of different shapes.
    """

    __slots__ = (
        "_arrays",
        "broadcasts",
        "consts",
        "elementwise",
        "environment",
        "jaxpr",
        "parts",
        "returned",
        "sizes",
    )

    def __init__(
        self,
        jaxpr: Any,
        consts: Sequence[Any] = (),
        returned: Any = (),
        environment: ShapeEnvironment | None = None,
        sizes: Sequence[int] = (),
        parts: Sequence[tuple[tuple[int, ...], Trace]] = (),
    ) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.returned = returned
        self.environment = environment
        self.sizes = sizes
        self.parts = parts
        self.elementwise = False
        self.broadcasts = False
        self._arrays: frozenset[tuple[tuple[Any, ...], Any]] | None = None

    @property
    def results(self) -> Any:
        """Shapes and dtypes of what the implementation returns, in numbers."""
        if self.parts:
            return tuple([result for _, part in self.parts for result in part.results])
        if isinstance(self.returned, tuple):
            return tuple([self._in_numbers(array) for array in self.returned])
        return self._in_numbers(self.returned)

    def _in_numbers(self, array: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape_at(array.shape, self.sizes), array.dtype)

    def at(self, sizes: Sequence[int]) -> Trace | None:
        """The trace for other sizes of the operands; None if that has other steps."""
        values = self.environment.evaluate(sizes) if self.environment is not None else None
        if values is None:
            return None
        other = Trace(self.jaxpr, self.consts, self.returned, self.environment, values)
        other._arrays = self.arrays
        return other

    def is_valid_for(self, other: Trace) -> bool:
        """Return True if another trace, for its own sizes, would have been this one."""
        return other.environment is not None and self.at(other.environment.sizes) is not None

    @property
    def arrays(self) -> frozenset[tuple[tuple[Any, ...], Any]]:
        """Shapes, maybe symbolic, and dtypes of the arrays that its steps make and return."""
        if self._arrays is None:
            avals = (*[outvar.aval for outvar in self.jaxpr.outvars], *_values_in(self.jaxpr))
            self._arrays = frozenset([(aval.shape, aval.dtype) for aval in avals])
        return self._arrays

    def require_sizes(self, name: str) -> None:
        """Check that all arrays can exist, see `require_size`.

        Args:
            name: the name of the operator that is traced.

        Raises:
            RuntimeError: one is too large for XLA, which would end the process.
        """
        for shape, dtype in self.arrays:
            require_size(name, shape_at(shape, self.sizes), dtype)

    def is_elementwise(self) -> bool:
        """Return True if a trace without dimensions holds for each element of larger arrays."""
        return _is_elementwise(self.jaxpr)


def trace(
    function: Callable,
    operands: Sequence[jax.ShapeDtypeStruct],
    context: contextlib.AbstractContextManager[None] | None = None,
) -> Trace:
    """Trace a function of arrays, without `jax.jit`; nothing is computed.

    Most functions of `jax.numpy` are jitted, down to the addition of two arrays. A jaxpr for each
    of them helps nobody here, and takes JAX as long as all the rest. `jax.make_jaxpr` is `jax.jit`
    too: for an operator of one step that is most of the time.

    Args:
        function: takes arrays; returns an array, or a tuple of them.
        operands: shapes and dtypes of what it takes.
        context: entered on the thread that traces.
    """
    is_single = False

    def flat(*arrays: Any) -> Sequence[Any]:
        nonlocal is_single
        results = function(*arrays)
        is_single = not isinstance(results, tuple | list)
        return [results] if is_single else results

    def run() -> Trace:
        # JAX names the function by this in errors; the paths of its results are not known.
        info = debug_info("trace", function, operands, {})._replace(result_paths=None)
        traceable: Any = SimpleNamespace(call_wrapped=flat, debug_info=info)
        with context or contextlib.nullcontext(), jax.disable_jit():
            avals = [core.ShapedArray(operand.shape, operand.dtype) for operand in operands]
            jaxpr, results, consts = trace_to_jaxpr_dynamic(traceable, avals)
            if hasattr(jaxpr, "with_consts"):
                # Releases of JAX after 0.10, whose jaxprs hold their constants.
                jaxpr = jaxpr.with_consts(consts)
        return Trace(jaxpr, consts, results[0] if is_single else tuple(results))

    return run_without_interrupt(run)


def _is_elementwise(jaxpr: Any) -> bool:
    """Return True if a jaxpr without dimensions holds for each element of larger arrays."""
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        inner = sub_jaxprs(equation)
        if inner and name not in CALLS:
            return False
        if is_across_elements(name):
            return False
        if any(atom.aval.shape for atom in (*equation.invars, *equation.outvars)):
            return False
        if not all(map(_is_elementwise, inner)):
            return False
    return True


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many constants and carried values an equation of `scan` has.

    Args:
        params: the parameters of the equation, as any release of JAX states them.
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(constants), len(carried)


def linear_solver(params: Mapping[str, Any], operands: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the jaxpr of an equation of a linear solve, and the operands that it takes.

    Args:
        params: the parameters of the equation.
        operands: constants of the matrix, its transpose and of both solvers, then the right sides.
    """
    counts = params["const_lengths"]
    start = counts.matvec + counts.vecmat
    constants = operands[start : start + counts.solve]
    return params["jaxprs"].solve, [*constants, *operands[sum(counts) :]]


def _values_in(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield from (outvar.aval for outvar in equation.outvars)
        for body in sub_jaxprs(equation):
            yield from _values_in(body)


def sub_jaxprs(equation: Any) -> list[Any]:
    """The steps inside a step: loops, branches and calls."""
    return [body for body in map(_body, _parameters(equation)) if body is not None]


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
