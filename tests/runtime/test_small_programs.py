"""Small programs on the CPU: NumPy computes them where they are read, and nothing is compiled."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.plan import planning
from oneflow.runtime import small_programs
from oneflow.runtime.lazy_array import HostArray
from oneflow.runtime.meta_array import NoValuesError
from oneflow.tensor.views import unwrap

X = np.arange(12, dtype=np.float32).reshape(3, 4)
N = np.array([2, 0, 1])


@pytest.fixture(autouse=True)
def fresh_start() -> None:
    flow.eager.synchronize()
    flow.eager.statistics().reset()


def _written(array: np.ndarray, index: Any, number: float) -> np.ndarray:
    array = array.copy()
    array[index] += number
    return array


def _add_at(x: flow.Tensor, index: Any, number: float) -> flow.Tensor:
    x = x.clone()
    x[index] += number
    return x


# Functions of `x`, which holds X, and `n`, which holds N, with the results of NumPy.
CASES: dict[str, tuple[Callable, Any]] = {
    "element": (lambda x, n: x[1, 2], X[1, 2]),
    "element of a row": (lambda x, n: x[1][-1], X[1][-1]),
    "row": (lambda x, n: x[2], X[2]),
    "steps": (lambda x, n: x[::2, 1::2], X[::2, 1::2]),
    "empty": (lambda x, n: x[1:1], X[1:1]),
    "new dimension": (lambda x, n: x[None, 1, ..., None], X[None, 1, ..., None]),
    "transposed": (lambda x, n: x.T[3], X.T[3]),
    "diagonal": (lambda x, n: flow.diagonal(x), np.diagonal(X)),
    "expanded": (lambda x, n: x[0].expand(2, 4), np.broadcast_to(X[0], (2, 4))),
    "place in a tensor": (lambda x, n: x[n[0], n[1]] + 0, X[N[0], N[1]]),
    "places": (lambda x, n: x[n], X[N]),
    "comparison": (lambda x, n: x[1, 1] >= x[2, 0], X[1, 1] >= X[2, 0]),
    "other dtypes": (lambda x, n: x[1] * n[0], X[1] * np.float32(N[0])),
    "half": (lambda x, n: x[1].bfloat16().float(), X[1]),
    "complex": (lambda x, n: (x[1] + 2j).abs(), np.abs(X[1] + 2j)),
    "sum": (lambda x, n: (x * x).sum(), (X * X).sum()),
    "product": (lambda x, n: x @ x.T, X @ X.T),
    "written": (lambda x, n: _add_at(x, (1, 2), 3), _written(X, (1, 2), 3)),
    "written where a tensor says": (lambda x, n: _add_at(x, n, 3), _written(X, N, 3)),
    "integers": (lambda x, n: n // 2 - 5, N // 2 - 5),
    "choice": (lambda x, n: flow.where(x > 5, x, -x), np.where(X > 5, X, -X)),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    function, expected = CASES[name]
    x, n = flow.tensor(X), flow.tensor(N)
    result = x
    for _ in range(5):
        result = function(x, n)
        array = result.numpy()
        assert array.dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(array, expected)
        assert tuple(result.shape) == np.shape(expected)
    flow.eager.synchronize()
    statistics = flow.eager.statistics()
    assert (statistics.new_programs, statistics.program_compiles, statistics.hot_runs) == (0, 0, 0)
    # Larger programs take what small ones have left with NumPy.
    large = flow.ones(1 << 17) * result.sum()
    np.testing.assert_allclose(large[-1].item(), np.sum(expected), rtol=1e-5)
    np.testing.assert_array_equal(x.numpy(), X)


def test_what_is_kept_is_no_view_of_what_is_written() -> None:
    x = flow.tensor(X)
    row = x[1]
    before = row.numpy()
    kept = row.detach().clone()
    kept.numpy()
    for _ in range(4):
        x += flow.ones(3, 4)
        x.numpy()
    np.testing.assert_array_equal(before, X[1])
    np.testing.assert_array_equal(kept.numpy(), X[1])
    np.testing.assert_array_equal(row.numpy(), X[1] + 4)
    row[0] = 50
    assert x[1, 0].item() == 50
    assert x._version == 5


def test_handles_on_one_result() -> None:
    y = flow.tensor(X) + 1
    handles = [y.detach(), y.detach().detach(), y.view(12)]
    assert y[0, 0].item() == 1
    for handle in handles:
        np.testing.assert_array_equal(handle.numpy().reshape(3, 4), X + 1)
    late = y.detach()
    np.testing.assert_array_equal((late * flow.ones(3, 4)).numpy(), X + 1)


def test_gradients() -> None:
    x = flow.tensor(X, requires_grad=True)
    total = x[1, 2] * x[0, 3]
    assert total.item() == 18
    total.backward()
    expected = np.zeros_like(X)
    expected[1, 2], expected[0, 3] = 3, 6
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    y = x.detach().clone().requires_grad_()
    part = y[1]
    assert part[0].item() == 4
    square = part * part
    with flow.no_grad():
        y[1, 0] = 7
    assert y[1, 0].item() == 7
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.sum().backward()


def test_an_error_is_raised_where_a_value_is_read_and_nothing_is_written() -> None:
    x, n = flow.tensor(X), flow.tensor([1, 7])
    for _ in range(3):
        with pytest.raises(IndexError, match=r"7 .*\(in `.*test_small_programs.py"):
            x[n[1], 0].item()
        x[n[1], 0] += 1
        with pytest.raises(IndexError, match="7"):
            x.numpy()
        np.testing.assert_array_equal(x.numpy(), X)
        x[n[0], 0] += 1
        assert x[1, 0].item() == 5
        x[n[0], 0] -= 1


def test_an_earlier_error_is_raised_too() -> None:
    large, places = flow.ones(1 << 17), flow.arange(1 << 17)
    x = flow.tensor(X)
    for _ in range(4):
        large[places + 1] *= 2.0
        y = x[1, 1]
        with pytest.raises(IndexError, match="131072"):
            y.item()
        assert y.item() == 5
        assert large[3].item() == 1


def test_an_interrupted_read_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    y = (flow.tensor(X) + 1)[1, 1]

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HostArray, "add_alias", interrupt)
        with pytest.raises(KeyboardInterrupt):
            y.item()
    assert y.item() == 6


def test_what_a_signal_handler_raises_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    y = (flow.tensor(X) + 1)[1, 1]

    def interrupt(*arguments: object) -> None:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(small_programs, "_compute", interrupt)
        with pytest.raises(TimeoutError):
            y.item()
    assert y.item() == 6


@pytest.mark.parametrize("error", [MemoryError(), ValueError("array is too big")])
def test_where_memory_is_little_the_program_runs_in_the_ordinary_way(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(small_programs, "_compute", fail)
    assert (flow.tensor(X) + 1)[1, 1].item() == 6


@pytest.mark.parametrize("name", ["_compute", "is_exclusive"])
def test_handles_that_another_thread_makes_meanwhile(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the numbers are computed, and while they are given to the values."""
    y = (flow.tensor(X) + 1)[1, 1]
    function, handles = getattr(small_programs, name), []

    def make_handle(*arguments: Any) -> Any:
        if not handles:
            thread = threading.Thread(target=lambda: handles.append(y.detach()))
            thread.start()
            thread.join()
        return function(*arguments)

    monkeypatch.setattr(small_programs, name, make_handle)
    assert y.item() == 6
    assert [handle.item() for handle in handles] == [6]


def test_handles_are_made_while_another_thread_reads() -> None:
    rows = flow.tensor(X)
    rows.numpy()
    for number in range(300):
        y, handles = rows[number % 3, 0] + number, []
        thread = threading.Thread(target=lambda y=y, to=handles: to.extend([y.detach(), y.view(1)]))
        thread.start()
        expected = y.item()
        thread.join()
        assert [handle.item() for handle in handles] == [expected, expected]


def test_others_do_not_wait_for_what_computes_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program whose input is still computed is left to the ordinary way."""
    computed = []
    monkeypatch.setattr(small_programs, "_compute", lambda *arguments: computed.append(arguments))
    monkeypatch.setattr(small_programs, "_is_ready", lambda array: False)
    assert (flow.tensor(X) + 1)[1, 1].item() == 6
    assert not computed


def test_another_thread_reads_what_was_recorded_here() -> None:
    x = flow.tensor(X)
    pending = [x[0, 1] + number for number in range(4)]
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.extend(y.item() for y in pending))
    thread.start()
    thread.join()
    assert results == [1, 2, 3, 4]
    assert [y.item() for y in pending] == results


def test_results_stay_on_the_host_until_a_program_takes_them() -> None:
    x = flow.tensor(X) + 1
    assert x.numpy()[1, 1] == 6
    assert type(unwrap(x).recorder) is HostArray
    y = x[0] + 1
    np.testing.assert_array_equal(y.numpy(), X[0] + 2)
    assert type(unwrap(x).recorder) is HostArray
    large = flow.ones(1 << 17) * x[0, 1]
    assert large[7].item() == 2
    assert unwrap(x).array is not None
    np.testing.assert_array_equal(x.numpy(), X + 1)


def test_a_state_that_is_read_in_each_turn_stays_on_the_host() -> None:
    x, total = flow.tensor(X), flow.zeros(())
    for number in range(1, 5):
        x = x * 2
        x[1, 2] = number
        total += x[0, 1]
        assert x[1].tolist() == [4 * 2**number, 5 * 2**number, number, 7 * 2**number]
        assert total.item() == 2 ** (number + 1) - 2
        assert type(unwrap(x).recorder) is HostArray
    assert flow.eager.statistics().hot_runs == 0
    large = flow.ones(1 << 17) * x.sum() * total
    total.zero_()
    assert large[5].item() == float(x.numpy().sum()) * 30
    assert total.item() == 0


def test_a_program_with_inputs_on_the_host_may_fail() -> None:
    x, y, n = flow.tensor(X) + 1, flow.tensor(X) + 2, flow.tensor([9])
    x.numpy(), y.numpy()
    x[n] = 0.0
    y.mul_(2)
    y.copy_(flow.ones(1 << 17)[: X.size].reshape(X.shape) * x)
    with pytest.raises(IndexError, match="9"):
        y.numpy()
    np.testing.assert_array_equal(x.numpy(), X + 1)
    np.testing.assert_array_equal(y.numpy(), X + 2)


@pytest.mark.parametrize("has_checks", [False, True])
def test_inputs_that_cannot_be_put_on_the_device(
    has_checks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(array: HostArray) -> None:
        raise MemoryError

    def check() -> None:
        if has_checks:
            flow.arange(3)[flow.tensor([1])].numpy()
        x, y = flow.tensor(X) + 1, flow.tensor(X) + 2
        x.numpy(), y.numpy()
        x.add_(1)
        y.copy_(flow.ones(1 << 17)[: X.size].reshape(X.shape) * x)
        with monkeypatch.context() as patch:
            patch.setattr(HostArray, "put", fail)
            with pytest.raises(MemoryError):
                y.numpy()
        np.testing.assert_array_equal(x.numpy(), X + 1)
        np.testing.assert_array_equal(y.numpy(), X + 2)

    with ThreadPoolExecutor(1) as thread:  # one that has run no checks
        thread.submit(check).result()


def test_another_thread_takes_a_program_with_inputs_on_the_host() -> None:
    x = flow.tensor(X) + 1
    x.numpy()
    y = flow.ones(1 << 17) * x[0, 2]
    results: list[float] = []
    thread = threading.Thread(target=lambda: results.append(y[3].item()))
    thread.start()
    thread.join()
    assert results == [3]
    np.testing.assert_array_equal(x.numpy(), X + 1)


def test_a_plan_leaves_inputs_on_the_host() -> None:
    x = flow.tensor(X) + 1
    x.numpy()
    with planning():
        large = flow.ones(1 << 17) * (x * 2).sum()
        with pytest.raises(NoValuesError):
            large.numpy()
    np.testing.assert_array_equal(x.numpy(), X + 1)


# Actions of a signal handler on `x` and the pending `y`, with their results by NumPy.
HANDLERS: dict[str, tuple[Callable, Any]] = {
    "records": (lambda x, y: x + 1, X + 1),
    "reads": (lambda x, y: y.numpy(), X * 2 + 1),
    "records and reads": (lambda x, y: (y + x).numpy(), X * 3 + 1),
    "runs": (lambda x, y: flow.ones(1 << 17)[: X.size].reshape(X.shape).mul(y).numpy(), X * 2 + 1),
}


@pytest.mark.parametrize("name", HANDLERS)
def test_a_signal_handler_may_come_at_any_call(name: str) -> None:
    function, expected = HANDLERS[name]
    for number in itertools.count(1):
        x, results = flow.tensor(X) * 1, []
        y = x * 2 + 1
        calls = itertools.count(1)

        def handle(frame: Any, event: str, argument: Any) -> None:
            if event == "call" and next(calls) == number:  # noqa: B023
                sys.setprofile(None)
                results.append(function(x, y))  # noqa: B023

        sys.setprofile(handle)
        try:
            element = y[1, 1].item()
        finally:
            sys.setprofile(None)
        assert element == 11
        if not results:
            break
        np.testing.assert_array_equal(results[0], expected)
        np.testing.assert_array_equal(y.numpy(), X * 2 + 1)
    assert number > 20


def test_handles_that_are_gone_are_not_kept() -> None:
    x = flow.tensor(X) + 1
    x.numpy()
    host_array = unwrap(x).recorder
    assert type(host_array) is HostArray
    handles = [x.detach() for _ in range(9)]
    assert len(host_array._values) == 10
    del handles
    assert len(host_array._values) == 1


def test_a_handle_made_while_numbers_are_put_on_the_device() -> None:
    x, late = flow.tensor(X) + 1, []
    x.numpy()
    host_array = unwrap(x).recorder
    assert type(host_array) is HostArray

    class References(set):
        def __iter__(self) -> Iterator[Any]:
            yield from super().__iter__()
            late.append(host_array.value())

    host_array._values = References(host_array._values)
    host_array.put()
    np.testing.assert_array_equal(late[0].read(), X + 1)


def test_a_signal_handler_may_run_a_program_whose_numbers_are_asked_for(monkeypatch):
    """It comes before they are computed, after which the program has no inputs any more."""
    value = unwrap(flow.tensor([2.0, 5.0]) * flow.tensor([3.0, 3.0]))
    is_for_numpy = small_programs._is_for_numpy

    def interrupted(recorder):
        monkeypatch.undo()
        recorder.flush("limit")
        return is_for_numpy(recorder)

    monkeypatch.setattr(small_programs, "_is_for_numpy", interrupted)
    assert small_programs.small_value(value) is None
    assert value.read().tolist() == [6.0, 15.0]
