"""One trace for many shapes: it computes what a trace for the very shape computes.

For what the operator table and the calls of `layer_calls` record, implementations and run-time
checks are traced with symbolic sizes for other shapes than the recorded ones, then taken up for
these. The results must be the same, to the bit, as those of a trace with numbers; and those as the
results of a trace in which functions are jitted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

from oneflow.interpreter.numpy_function import numpy_function_of
from oneflow.primitives import trace_cache
from oneflow.primitives.inference import abstract_operands
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import PRIMITIVES
from oneflow.primitives.trace import Trace, sub_jaxprs, trace
from oneflow.primitives.trace_cache import SIZE_ATTRIBUTES, TraceCache
from tests.laws.recording import of_recorded_programs, recorded_programs

pytestmark = of_recorded_programs

_MAX_OPERATIONS = 6  # of a primitive
NO_SAMPLE = "no sample records it"
# Primitives of which every shape, or nearly every one, is traced; by the reason.
NOT_SHARED = {
    name: reason
    for reason, names in {
        "the interpreter has no rule for JAX's primitives": """
            cholesky eigh eigvals gammainc_x_gradient geqrf grouped_matmul
            grouped_matmul_transposed grouped_outer inverse lu lu_permutation matrix_exp matrix_rank
            pinv polygamma qr slogdet solve solve_triangular svd svdvals zeta""",
        "sizes decide how many results or steps there are": """
            adaptive_max_pool apply_householder householder_product keep_last ldl_solve
            roi_align roi_align_backward searchsorted unbind unfold unfold_update""",
        "JAX wants numbers: for padding, paths of contractions, bounds of indices": """
            affine_grid embedding_bag grid_sample median median_of_all""",
        "rows and columns decide a factor, and which of them is turned": "muon_update",
        "JAX wants numbers from version 0.11 on": "ndtri",
    }.items()
    for name in names.split()
}


@functools.cache
def operations() -> dict[str, list[Operation]]:
    """The recorded operations, by primitive."""
    found: dict[str, dict[Operation, None]] = {}
    for program in recorded_programs():
        for instruction in program.instructions:
            operation = instruction.operation
            found.setdefault(operation.primitive.name, {})[operation] = None
    return {name: list(shapes) for name, shapes in found.items()}


def other_sizes(operation: Operation) -> Iterator[Callable[[int], int]]:
    """Functions that give another size for each, by which a call often stays right."""
    sizes = {size for spec in operation.in_specs for size in spec.shape if size > 1}
    yield lambda size: size + 1 if size > 1 else size
    for chosen in sorted(sizes):
        yield lambda size: size * 3 if size and size % chosen == 0 else size  # noqa: B023
    yield lambda size: size + 5


def resized(value: Any, change: Callable[[int], int]) -> Any:
    """An attribute that holds sizes, with others."""
    return tuple(map(change, value)) if isinstance(value, tuple) else change(value)


def array_like(operand: jax.ShapeDtypeStruct, rng: np.random.Generator) -> np.ndarray:
    """Numbers that are right for most operators: positive, and small where they are integers."""
    if operand.dtype.kind in "iub":
        return rng.integers(0, 2, operand.shape).astype(operand.dtype)
    return np.asarray(rng.uniform(0.1, 0.9, operand.shape)).astype(operand.dtype)


def results(found: Trace, arrays: list[np.ndarray]) -> list[tuple[Any, ...]] | None:
    """Shapes, dtypes and bits of the results on NumPy; None if a rule is missing."""
    function = numpy_function_of(found)
    if function is None:
        return None
    leaves = jax.tree.leaves(found.results)
    with np.errstate(all="ignore"):
        computed = function(*arrays)
    assert [tensor.shape for tensor in computed] == [leaf.shape for leaf in leaves]
    return [(tensor.shape, tensor.dtype, np.asarray(tensor).tobytes()) for tensor in computed]


def taken_up(operation: Operation, function: Callable, traces: list[None]) -> int:
    """Check an implementation; returns for how many other sizes its trace served as well.

    Args:
        operation: the operation that it belongs to.
        function: the implementation.
        traces: gets an entry for each trace that is made.
    """
    operands, attributes = abstract_operands(operation.in_specs), operation.attributes
    rng = np.random.default_rng(1)
    arrays = [array_like(operand, rng) for operand in operands]
    name = operation.primitive.name
    exact = trace(lambda *given: function(*given, **attributes), operands)
    expected = results(exact, arrays)
    if expected is None:
        return 0
    count = 0
    for change in other_sizes(operation):
        others = [
            jax.ShapeDtypeStruct(tuple(map(change, operand.shape)), operand.dtype)
            for operand in operands
        ]
        changed = {
            key: resized(value, change) if key in SIZE_ATTRIBUTES else value
            for key, value in attributes.items()
        }
        cache = TraceCache()
        try:
            cache.trace(name, function, others, changed)
        except Exception:
            continue  # a wrong call
        traces.clear()
        found = cache.trace(name, function, operands, attributes)
        count += not traces
        assert results(found, arrays) == expected
    return count


@pytest.mark.one_in(24)
@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_traces_for_other_sizes_compute_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = operations().get(name)
    if recorded is None:
        pytest.skip(NO_SAMPLE)
    traces: list[None] = []

    def counted(*arguments: Any) -> Any:
        traces.append(None)
        return trace(*arguments)

    monkeypatch.setattr(trace_cache, "trace", counted)
    count = 0
    for operation in recorded[:_MAX_OPERATIONS]:
        count += taken_up(operation, operation.primitive.traced_implementation("cpu"), traces)
        if operation.primitive.check is not None:
            taken_up(operation, operation.primitive.check, traces)
    assert count or name in NOT_SHARED


def loops_of(jaxpr: Any) -> list[str]:
    """The loops and branches in a jaxpr, in order."""
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("scan", "while", "cond"):
            found.append(equation.primitive.name)
        found += [name for inner in sub_jaxprs(equation) for name in loops_of(inner)]
    return found


@pytest.mark.one_in(24)
@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_traces_without_jit_are_those_with_it(name: str) -> None:
    recorded = operations().get(name)
    if recorded is None:
        pytest.skip(NO_SAMPLE)
    for operation in recorded[:_MAX_OPERATIONS]:
        function = functools.partial(
            operation.primitive.implementation("cpu"), **operation.attributes
        )
        operands = abstract_operands(operation.in_specs)
        rng = np.random.default_rng(1)
        arrays = [array_like(operand, rng) for operand in operands]
        mine = trace(function, operands)
        closed, returned = jax.make_jaxpr(function, return_shape=True)(*operands)
        jitted = Trace(closed.jaxpr, closed.consts, returned)
        assert loops_of(mine.jaxpr) == loops_of(jitted.jaxpr)
        assert results(mine, arrays) == results(jitted, arrays)
