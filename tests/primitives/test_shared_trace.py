"""One trace for many shapes: what it depends on decides which."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oneflow as flow
from oneflow.interpreter.numpy_function import numpy_function_of
from oneflow.primitives.symbolic_size import ShapeEnvironment
from oneflow.primitives.trace_cache import TRACES


def test_sizes_compute_and_compare_as_their_numbers_do() -> None:
    environment = ShapeEnvironment([6, 4])
    x, y = environment.symbols()
    with environment.tracing():
        computed = [x + y, 1 - x, x * y // 3, divmod(x, y)[1], x.max(y), y.rmin(5), -x, 7 % y]
        assert all([x > y, x == y + 2, y != 6, x - y * 1 != 3, y <= 5, len({x, y + 2}) == 1])
        assert (x % 2, y // 4, bool(x - 6)) == (0, 1, False)
    values = environment.evaluate([6, 4])
    assert values is not None
    assert [values[size.number] for size in computed] == [10, -5, 8, 2, 6, 4, -6, 3]


@pytest.mark.parametrize(
    ("depends_on", "same", "others"),
    [
        (lambda x, y: x > y, [(9, 1)], [(4, 4), (1, 9)]),
        (lambda x, y: x % 2 == 0, [(8, 7), (2, 1)], [(7, 4)]),
        (lambda x, y: y in (1, 5), [(7, 4)], [(6, 5), (6, 1)]),
        (lambda x, y: x // (y - 2) == 7, [(12, 5), (6, 4)], [(6, 2), (14, 4)]),
        (lambda x, y: x * y, [(0, 0), (1, 2)], []),
        (lambda x, y: len({x, y + 2}) == 1, [(9, 7), (6, 4)], [(6, 5)]),
    ],
)
def test_a_trace_serves_the_sizes_for_which_comparisons_come_out_alike(
    depends_on: Callable, same: list, others: list
) -> None:
    environment = ShapeEnvironment([6, 4])
    with environment.tracing():
        depends_on(*environment.symbols())
    assert all(environment.evaluate(size) is not None for size in same)
    assert all(environment.evaluate(other) is None for other in others)


def test_no_size_is_equal_to_a_number() -> None:
    """Hash tables in JAX compare them with numbers, also if their hashes differ."""
    environment = ShapeEnvironment([6, 6, 5])
    x, y, z = environment.symbols()
    outside: list[bool] = []
    with environment.tracing():
        assert x == y
        with pytest.raises(TypeError, match="is compared with its number"):
            assert x + z == 11
        other = threading.Thread(target=lambda: outside.extend((x == 6, x == y, x == x + 0)))
        other.start()
        other.join()
    assert environment.needed == {0, 2}
    assert outside == [False, False, False]
    assert x != y
    assert x != 6
    assert 6 != x  # noqa: SIM300
    with pytest.raises(TypeError):
        sorted([x, 7])
    again = ShapeEnvironment([6, 6, 5], frozenset(environment.needed))
    assert again.symbols()[::2] == [6, 5]
    assert again.evaluate([6, 2, 5]) is not None
    assert again.evaluate([7, 6, 5]) is None


def test_sizes_that_are_compared_with_their_number_are_numbers() -> None:
    def function(x: Any) -> Any:
        return x.sum(0) if x.shape[1] == 3 else x * 2

    for shape in ((4, 3), (5, 3), (6, 3), (6, 2), (7, 5), (2, 3)):
        check(function, shape)
    assert shared_traces(function) == 2


def test_what_needs_the_number_itself_fails() -> None:
    (size,) = ShapeEnvironment([3]).symbols()
    (other,) = ShapeEnvironment([3]).symbols()
    uses: list[Any] = [range, int, float, np.zeros, lambda x: [0] * x, lambda x: "abc"[x]]
    for use in uses:
        with pytest.raises((TypeError, ValueError)):
            use(size)
    assert size != other
    assert len({size, other}) == 2


@pytest.fixture(autouse=True)
def _fresh_caches() -> None:
    """JAX's tables hold no shapes of other tests, which it would compare sizes with."""
    jax.clear_caches()


def shared_traces(function: Callable) -> int | None:
    """The number of traces that serve an implementation; None if none can."""
    found = [traces for kind, traces in TRACES.by_kind.items() if kind[1] is function]
    return None if None in found else sum(map(len, filter(None, found)))


def check(function: Callable, *shapes: tuple[int, ...], **attributes: Any) -> None:
    """Compare what the trace for some shapes computes with what the function does."""
    operands = [jax.ShapeDtypeStruct(shape, np.dtype(np.float32)) for shape in shapes]
    trace = TRACES.trace("doc", function, operands, attributes)
    arrays = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    expected = jax.tree.leaves(function(*map(jnp.asarray, arrays), **attributes))
    numpy_function = numpy_function_of(trace)
    assert numpy_function is not None
    computed = numpy_function(*arrays)
    assert [leaf.shape for leaf in jax.tree.leaves(trace.results)] == [
        tensor.shape for tensor in expected
    ]
    for mine, theirs in zip(computed, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)


def test_one_trace_serves_all_shapes() -> None:
    def function(x: Any, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> Any:
        total = x.sum(dims, keepdims=True) / x.shape[dims[0]]
        return jnp.broadcast_to(total, shape), x.reshape(-1)[::-1]

    for rows in (2, 3, 7):
        check(function, (rows, 5), shape=(rows, 4), dims=(1,))
    assert shared_traces(function) == 1
    check(function, (2, 5), shape=(2, 5), dims=(0,))
    assert shared_traces(function) == 2


def test_what_a_trace_compared_by_chance_keeps_no_second_one() -> None:
    by_chance = [7]

    def function(x: Any) -> Any:
        assert all(x.shape[0] != by_chance.pop() for _ in by_chance[:])
        return x * 2 if x.shape[1] < 9 else x + 1

    for shape in ((2, 5), (7, 5), (3, 9), (7, 4), (2, 12)):
        check(function, shape)
    assert shared_traces(function) == 2


def test_branches_on_sizes_have_a_trace_each() -> None:
    def function(x: Any) -> Any:
        return (x * 2 if x.shape[0] % 2 else x[: x.shape[0] // 2]) if x.shape[0] > 4 else x + 1

    for size in (3, 8, 5, 4, 1, 6, 10, 9, 7):
        check(function, (size,))
    # One more where a hash table within JAX happens to compare a size with a number.
    assert shared_traces(function) in (3, 4)


def test_loops_over_sizes_are_traced_for_each_shape() -> None:
    def function(x: Any) -> Any:
        return tuple(x[row] for row in range(x.shape[0]))

    for size in (3, 2, 4):
        check(function, (size, 2))
    assert shared_traces(function) is None


def test_a_wrong_call_says_so_and_spoils_nothing() -> None:
    def function(x: Any, y: Any) -> Any:
        return x @ y

    for _ in range(2):
        with pytest.raises(TypeError, match=r"got \(3,\) and \(4,\)"):
            check(function, (2, 3), (4, 3))
    for size in (2, 5, 9):
        check(function, (size, 3), (3, size + 2))
    assert shared_traces(function) == 1


def test_what_is_too_large_is_an_error_for_shared_traces_too() -> None:
    assert flow.ones(3, 5).sum(0).shape == (5,)
    with pytest.raises(RuntimeError, match="no array has more than"):
        flow.ones(2**40, 2**40)
    assert flow.ones(4, 2).sum(0).shape == (2,)
