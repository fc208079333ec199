"""Views of one element: reading and comparing them records nothing, and says what PyTorch says."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.program.value import Value
from oneflow.runtime.eager import current

_COMPARISONS = [getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")]
_CONTENTS: dict[str, list[Any]] = {
    "float32": [0.1, -2.5, math.nan, math.inf],
    "float64": [0.1, -2.5, math.nan, -math.inf],
    "float16": [0.1, -2.5, math.nan, 6e4],
    "bfloat16": [0.1, -2.5, math.nan, 3e38],
    "int64": [3, -2, 2**62, 0],
    "int32": [3, -2, 2**31 - 1, 0],
    "uint8": [3, 255, 0, 1],
    "bool": [True, False, True, False],
}
_NUMBERS = [0.1, -2.5, 3, 0, 1, True, 16777217, 1e300, math.nan, math.inf]


def _ready(content: list[Any], dtype: str, index: Any = 0) -> flow.Tensor:
    """A tensor that is not pending, and of whose kind an element has been selected before."""
    x = flow.tensor(content, dtype=getattr(flow, dtype))
    x.numpy()
    x[index].item()
    return x


def _is_delayed(view: flow.Tensor) -> bool:
    return view._seen < 0


@pytest.mark.parametrize("dtype", _CONTENTS)
def test_elements_read_and_compare_as_in_pytorch(dtype: str) -> None:
    content = _CONTENTS[dtype]
    x, of_torch = _ready(content, dtype), torch.tensor(content, dtype=getattr(torch, dtype))
    for index in range(-4, 4):
        view = x[index]
        assert _is_delayed(view)
        np.testing.assert_equal(view.item(), of_torch[index].item())
        assert type(view.item()) is type(of_torch[index].item())
        assert bool(x[index]) == bool(of_torch[index])
    for compare, i, j in itertools.product(_COMPARISONS, range(4), range(4)):
        result = compare(x[i], x[j])
        assert (result.shape, result.dtype) == ((), flow.bool)
        assert result.item() is compare(of_torch[i], of_torch[j]).item(), (compare, i, j)
    for compare, i, number in itertools.product(_COMPARISONS, range(4), _NUMBERS):
        expected = compare(of_torch[i], number).item()
        assert compare(x[i], number).item() is expected, (compare, content[i], number)
        expected = compare(number, of_torch[i]).item()
        assert compare(number, x[i]).item() is expected, (compare, number, content[i])


def test_elements_of_other_dtypes_compare_as_in_pytorch() -> None:
    names = list(_CONTENTS)
    tensors = [_ready(_CONTENTS[name], name) for name in names]
    of_torch = [torch.tensor(_CONTENTS[name], dtype=getattr(torch, name)) for name in names]
    pairs = itertools.product(range(len(names)), range(len(names)), _COMPARISONS)
    for first, second, compare in pairs:
        result = compare(tensors[first][0], tensors[second][1]).item()
        expected = compare(of_torch[first][0], of_torch[second][1]).item()
        assert result is expected, (names[first], names[second], compare)


WRITES: dict[str, Callable[[flow.Tensor], Any]] = {
    "element": lambda x: x.__setitem__(1, 5.0),
    "all": lambda x: x.fill_(5.0),
    "another view": lambda x: x[1:3].add_(3.0),
    "the data": lambda x: x.data.mul_(2.5),
    "an element's data": lambda x: x.data.__setitem__(1, 5.0),
    "no_grad": lambda x: flow.no_grad()(x.add_)(3.0),
    "a detached one": lambda x: x.detach().add_(3.0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("is_read", [False, True])
def test_views_made_before_a_write_see_it(write: str, is_read: bool) -> None:
    x = _ready([1.0, 2.0, 3.0], "float32")
    view, kept = x[1], x[1].detach()
    assert _is_delayed(view)
    if is_read:
        assert view.item() == 2.0
        assert (view + 1).item() == 3.0
    WRITES[write](x)
    assert view.item() == kept.item() == x.tolist()[1] == 5.0
    assert (view > 4.5).item() is True
    assert (view * 2).item() == 10.0


def test_a_write_to_the_view_reaches_the_memory() -> None:
    x = _ready([[1.0, 2.0], [3.0, 4.0]], "float32", (0, 0))
    view = x[1, 0]
    view += 4
    assert x.tolist() == [[1.0, 2.0], [7.0, 4.0]]
    assert view.item() == 7.0
    assert view._base is x


def test_gradients_flow_through_elements_of_what_came_to_require_them() -> None:
    x = _ready([1.0, 2.0, 3.0], "float32")
    view = x[1]
    weight = flow.ones(3, requires_grad=True)
    x.mul_(weight * 3)
    assert view.requires_grad
    assert view.item() == 6.0
    view.backward()
    assert weight.grad.tolist() == [0.0, 6.0, 0.0]


def test_a_view_made_before_its_memory_asks_for_gradients_gets_none() -> None:
    gradients = []
    for x in (_ready([1.0, 2.0], "float32"), torch.tensor([1.0, 2.0])):
        view = x[1]
        x.requires_grad_()
        (view * view * 3 + x.sum()).backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1] == [1.0, 1.0]


def test_arithmetic_of_elements_keeps_the_history_of_their_memory() -> None:
    x, weight = _ready([1.0, 2.0], "float32"), flow.ones(2, requires_grad=True)
    first, second = x[0], x[1]
    x.mul_(weight * 3)
    assert x.tolist() == [3.0, 6.0]  # the memory is there
    (first * second).backward()
    assert weight.grad.tolist() == [18.0, 18.0]


def test_reading_and_comparing_records_nothing() -> None:
    x = _ready([1.0, 2.0, 3.0], "float32")
    other = flow.ones(2) * 3  # pending, and stays so
    recorder = current.recorder
    before = len(recorder.outputs)
    truths = bool(x[0] < x[2]), bool(x[1] >= 3.0), bool(x[1] == 2)
    assert (*truths, float(x[0]), x[2].item()) == (True, False, True, 1.0, 3.0)
    assert current.recorder is recorder
    assert len(recorder.outputs) == before
    assert other.tolist() == [3.0, 3.0]


def test_an_element_is_not_read_behind_a_check_that_failed() -> None:
    def look_up(index: int) -> flow.Tensor:
        return values[flow.tensor([index])].sin().sum()

    x, values = _ready([1.0, 2.0], "float32"), flow.randn(3)
    for _ in range(6):  # as a whole: its checks are looked at when a value is read
        look_up(1).item()
        flow.eager.synchronize()
    wrong = look_up(7)
    recorder = current.recorder
    assert recorder is not None
    recorder.flush("limit")
    with pytest.raises(IndexError):
        x[1].item()
    assert x[1].item() == 2.0
    del wrong


SOURCES: dict[str, list[Any]] = {
    "float32": [2.5, -1, 0.1, math.nan, math.inf, 2**40, True],
    "float64": [2.5, -1, 0.1, math.nan, math.inf, 1e300, 2**40, True],
    "int64": [7, -1, 2**40, True],
    "int32": [7, -1, True],
    "float16": [2.5, -1, True],
    "bool": [True, 0],
}


@pytest.mark.parametrize("dtype", SOURCES)
def test_elements_are_written_as_in_pytorch(dtype: str) -> None:
    content = _CONTENTS[dtype][:3]
    x, of_torch = _ready(content, dtype), torch.tensor(content, dtype=getattr(torch, dtype))
    view, part = x[1], x[:2]
    for number, index in itertools.product(SOURCES[dtype], (0, 1, -1, (2,))):
        x[index] = of_torch[index] = number
        np.testing.assert_equal(x.tolist(), of_torch.tolist())
        np.testing.assert_equal(view.item(), of_torch[1].item())
        np.testing.assert_equal(part.tolist(), of_torch[:2].tolist())
    x[0], of_torch[0] = x[2], of_torch[2]
    np.testing.assert_equal(x.tolist(), of_torch.tolist())
    assert x._version == 4 * len(SOURCES[dtype]) + 1


def test_writing_a_number_records_nothing() -> None:
    x = _ready([1.0, 2.0, 3.0], "float32")
    numbers = x.numpy()
    recorder = current.recorder
    before = len(recorder.outputs)
    x[1] = 5
    x[2] = x[0]
    assert current.recorder is recorder
    assert len(recorder.outputs) == before
    assert (x.tolist(), numbers.tolist()) == ([1.0, 5.0, 1.0], [1.0, 2.0, 3.0])


def test_positions_that_do_not_exist_are_refused() -> None:
    x = _ready([1.0, 2.0], "float32")
    for index in (2, -3, (0, 0)):
        with pytest.raises(IndexError):
            x[index] = 1.0
    assert x.tolist() == [1.0, 2.0]


def test_nothing_is_written_behind_a_check_that_will_fail() -> None:
    x, values = _ready([1.0, 2.0], "float32"), flow.randn(3)
    values.numpy()
    wrong = values[flow.tensor([7])]
    x[0] = 5.0
    with pytest.raises(IndexError):
        wrong.tolist()
    assert x.tolist() == [1.0, 2.0]


def test_gradients_flow_past_a_written_element() -> None:
    x, weight = _ready([1.0, 2.0], "float32"), flow.ones(2, requires_grad=True)
    y = x * weight
    y[0] = 3.0
    y.sum().backward()
    assert weight.grad.tolist() == [0.0, 2.0]
    with pytest.raises(RuntimeError, match="leaf"):
        weight[0] = 1.0
    saved = (weight * x).sum()
    x[0] = 2.0
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        saved.backward()


_FACTORS = [0.9, -3, 1e-30, 1e30, 16777217, math.inf, math.nan, 0.0]
_STATES: dict[str, list[Any]] = {
    "float32": [1.1, -3e37, 1e-38, math.nan, math.inf],
    "float64": [1.1, -3e307, 1e-308, math.nan, math.inf],
    "float16": [1.1, 6e4],
    "int32": [3, -(2**31), 2**31 - 1],
    "int64": [3, -(2**63), 2**62],
    "uint8": [3, 255],
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "a + b": operator.add,
    "a - b": operator.sub,
    "a * b": operator.mul,
    "a / b": operator.truediv,
    "b - a": lambda a, b: b - a,
    "b * a": lambda a, b: b * a,
    "a += b": operator.iadd,
    "a *= b": operator.imul,
}


def _same(ours: flow.Tensor, theirs: torch.Tensor, what: Any) -> None:
    assert (str(ours.dtype)[8:], ours.shape) == (str(theirs.dtype)[6:], theirs.shape), what
    np.testing.assert_equal(ours.numpy(), theirs.numpy(), err_msg=str(what))


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", _STATES)
def test_arithmetic_of_states_is_that_of_pytorch(dtype: str, name: str) -> None:
    compute = ARITHMETIC[name]
    for state in _STATES[dtype]:
        x, of_torch = (
            _ready([state, 3], dtype),
            torch.tensor([state, 3], dtype=getattr(torch, dtype)),
        )
        for factor in _FACTORS:
            if "float" in dtype or type(factor) is int:
                results = [compute(operands[0] * 1, factor) for operands in (x, of_torch)]
                _same(*results, (state, name, factor))
        _same(*[compute(operands[0] * 1, operands[1]) for operands in (x, of_torch)], (state, name))


def test_what_is_looked_at_is_recorded() -> None:
    x = _ready([1.0, 2.0], "float32")
    view = x[1]

    def compute(x: flow.Tensor) -> flow.Tensor:
        x[0] = 3.0
        return (x[0] * 2 > view * 3) & (view > 1.0)

    names = [i.operation.primitive.name for i in flow.eager.record(compute, x).instructions]
    assert {"mul", "gt", "select_update"} <= set(names)

    class Reading(flow.nn.Graph):
        def build(self, y: flow.Tensor) -> flow.Tensor:
            return y * 2 if view > 1.0 else y

    with pytest.raises(RuntimeError, match="read"):
        Reading()(flow.ones(2))
    with flow.profiler.profile() as profile:
        (x[0] * 2 > x[1]).item()
    assert {"mul", "gt"} <= {event.name for event in profile.key_averages()}


@pytest.mark.parametrize("is_stale", [False, True])
def test_views_that_a_capture_asks_for_first_keep_their_values(is_stale: bool) -> None:
    x = _ready([1.0, 2.0, 3.0], "float32")
    constant, buffer, argument = x[0], x[1], x[2]
    assert _is_delayed(buffer)
    if is_stale:
        (constant + buffer + argument).numpy()
        x += 1

    class Scaled(flow.nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.module = flow.nn.Module()
            self.module.register_buffer("factor", buffer)

        def build(self, y: flow.Tensor) -> flow.Tensor:
            return y * self.module.factor + constant

    graph, one = Scaled(), float(is_stale)
    for _ in range(2):
        assert graph(argument).item() == (3 + one) * (2 + one) + 1 + one
    assert [constant.item(), (buffer * 1).item(), argument.item()] == x.tolist()
    x[1] = 7.0
    assert (buffer.item(), graph(argument).item()) == (7.0, (3 + one) * 7 + 1 + one)


def test_results_know_that_they_were_made_in_inference_mode() -> None:
    x = _ready([1.0, 2.0], "float32")
    with flow.inference_mode():
        results = x[0] > x[1], x[0] * 2, (x[0] + 1) * 3
        x[1] = 3.0
        assert [result.is_inference() for result in (*results, x, x[0])] == [True] * 3 + [False] * 2
    assert (x.tolist(), x[1].is_inference()) == ([1.0, 3.0], False)


def test_a_loop_over_a_state_records_nothing() -> None:
    state, expected = _ready([1.0], "float32")[0] * 1.0, torch.tensor(1.0)
    recorder = current.recorder
    before = len(recorder.outputs)
    for _ in range(20):
        state = state * 0.9 + 0.01
        expected = expected * 0.9 + 0.01
        state -= 1e-3
        expected -= 1e-3
        assert state.item() == expected.item()
    assert current.recorder is recorder
    assert len(recorder.outputs) == before


def test_the_view_holds_no_value_of_the_memory() -> None:
    x = _ready([1.0, 2.0], "float32")
    view = x[1]
    value = view._value
    assert (type(value), value.array, value.recorder) == (Value, None, None)
    assert (view.shape, view.dtype, view.is_leaf) == ((), flow.float32, True)
