"""Implementations as JAX traces them: the shapes they give, and the steps they take."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.spec import require_size
from oneflow.base.uninterruptible import run_uninterruptible

# Primitives of JAX that only hold another jaxpr, by the parameter that it is in.
CALLS = {
    **dict.fromkeys(("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2"), "jaxpr"),
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_lin": "call_jaxpr",
}
# Scatters by name, in the spelling of every release of JAX, with how they combine elements.
SCATTERS: dict[str, str | None] = {
    "scatter": None,
    **{f"scatter{sep}{how}": how for sep in "-_" for how in ("add", "sub", "mul", "min", "max")},
}
# Beginnings of the names of those whose result depends on several elements, were there several.
_ACROSS = ("reduce_", "arg", "cum", "sort", "random", "rng", "threefry", "custom_linear_solve")


class TracedJaxpr:
    """A jaxpr that JAX has traced.

    Attributes:
        closed: the jaxpr, maybe with symbolic sizes; None once the interpreter has a template.
        template: what the interpreter has prepared of it; None before, False if it lacks a rule.
    """

    __slots__ = ("closed", "template")

    def __init__(self, closed: Any) -> None:
        self.closed = closed
        self.template: Any = None


class Traced:
    """An implementation as traced by JAX.

    Attributes:
        source: the jaxpr.
        sizes: the numbers for its symbolic sizes.
        numpy_function: on NumPy; None before it is made, False if there is none.
        results: shapes and dtypes of what the implementation returns.
        elementwise: it was traced on arrays without dimensions and holds for all shapes that
            broadcast.
        broadcasts: it has been seen to take operands of different shapes.
    """

    __slots__ = ("broadcasts", "elementwise", "numpy_function", "results", "sizes", "source")

    def __init__(
        self,
        source: TracedJaxpr,
        results: Any,
        sizes: Sequence[int] = (),
        elementwise: bool = False,
    ) -> None:
        self.source = source
        self.sizes = sizes
        self.numpy_function: Any = None
        self.results = results
        self.elementwise = elementwise
        self.broadcasts = False


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
    return Traced(TracedJaxpr(closed), results)


def make_jaxpr(function: Callable, operands: Sequence[jax.ShapeDtypeStruct]) -> tuple[Any, Any]:
    """The closed jaxpr of a function of arrays, and shapes and dtypes of what it returns."""
    before = time.perf_counter()
    try:
        return run_uninterruptible(lambda: jax.make_jaxpr(function, return_shape=True)(*operands))
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
        if name.startswith(_ACROSS) and name != "reduce_precision":
            return False
        if any(each.aval.shape for each in (*equation.invars, *equation.outvars)):
            return False
        if not all(map(_is_elementwise, inner)):
            return False
    return True


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
