"""NumPy's arrays beside tensors, in PyTorch's place: taken where PyTorch takes them."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import mock_torch

with mock_torch.enable():
    import torch as ours

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.and_, operator.or_, operator.lt, operator.ge, operator.eq),
]
FUNCTIONS = ["add", "sub", "mul", "div", "maximum", "eq", "pow", "where", "atan2", "logical_and"]


def _outcome(call: Callable[[], Any]) -> Any:
    """Return the type of the error of a call, or what it gives."""
    with mock_torch.enable(), warnings.catch_warnings():
        # NumPy deprecates how PyTorch takes its results.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            result = call()
        except TypeError:
            return TypeError
    return "tensor" if "Tensor" in type(result).__name__ else "array", np.asarray(result).tolist()


def _array_and_tensors(dtype: Any) -> tuple[np.ndarray, tuple[Any, Any]]:
    numbers = np.array([1, 2, 3], dtype)
    return numbers, (torch.tensor([3, 2, 1]), ours.tensor([3, 2, 1]))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("is_array_first", [True, False])
@pytest.mark.parametrize("compute", OPERATORS, ids=lambda compute: compute.__name__)
def test_operators_take_arrays_where_those_of_pytorch_do(
    compute: Callable[..., Any], is_array_first: bool, dtype: Any
) -> None:
    array, tensors = _array_and_tensors(dtype)
    if dtype is np.float64 and compute in (operator.and_, operator.or_):
        pytest.skip("floats have no bits")

    def call(tensor: Any) -> Any:
        return compute(array, tensor) if is_array_first else compute(tensor, array)

    expected, result = (_outcome(lambda tensor=tensor: call(tensor)) for tensor in tensors)
    if expected is TypeError:
        assert result is TypeError
    else:
        assert result[0] == expected[0] == "tensor"
        np.testing.assert_allclose(result[1], expected[1])


@pytest.mark.parametrize("is_array_first", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_no_arrays(name: str, is_array_first: bool) -> None:
    array, tensors = _array_and_tensors(np.int64)
    results = []
    for library, tensor in zip((torch, ours), tensors, strict=True):
        pair = (array, tensor) if is_array_first else (tensor, array)
        condition = (tensor > 1,) if name == "where" else ()
        function = getattr(library, name)
        results.append(_outcome(lambda f=function, args=(*condition, *pair): f(*args)))
    assert results == [TypeError, TypeError]


@pytest.mark.parametrize(
    "function",
    [np.sin, np.isfinite, lambda x: np.add(x, np.ones(3)), lambda x: np.multiply(np.ones(3), x)],
    ids=["sin", "isfinite", "add", "multiply"],
)
def test_numpy_functions_of_tensors_give_tensors(function: Callable[[Any], Any]) -> None:
    _, tensors = _array_and_tensors(np.int64)
    expected, result = (_outcome(lambda tensor=tensor: function(tensor)) for tensor in tensors)
    assert result[0] == expected[0] == "tensor"
    np.testing.assert_allclose(result[1], expected[1])


def test_numpy_functions_do_not_lose_gradients_silently() -> None:
    with mock_torch.enable(), pytest.raises(RuntimeError, match="requires grad"):
        np.sin(ours.ones(2, requires_grad=True))


def test_arrays_are_taken_outside_of_pytorchs_place() -> None:
    array: Any = np.array([1, 2, 3])
    tensor = flow.tensor([3, 2, 1])
    assert (array + tensor).tolist() == flow.add(tensor, array).tolist() == [4, 4, 4]
    assert (tensor != array).tolist() == [True, False, True]
    assert (tensor < array).tolist() == [False, False, True]
    assert isinstance(np.sin(tensor), np.ndarray)
