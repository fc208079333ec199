"""Names of dtypes that no tensor has."""

import pytest

import oneflow as flow
from oneflow.base import dtype as dtypes
from oneflow.base.dtype import NameOnly

NAMES = sorted(name for name, value in vars(dtypes).items() if isinstance(value, NameOnly))
MAKE = {
    "arange": lambda dtype: flow.arange(3, dtype=dtype),
    "as_tensor": lambda dtype: flow.as_tensor([1], dtype=dtype),
    "cast": lambda dtype: flow.cast(flow.ones(2), dtype),
    "default": flow.set_default_dtype,
    "empty": lambda dtype: flow.empty(2, dtype=dtype),
    "eye": lambda dtype: flow.eye(2, dtype=dtype),
    "full": lambda dtype: flow.full((2,), 1, dtype=dtype),
    "hann_window": lambda dtype: flow.hann_window(4, dtype=dtype),
    "linspace": lambda dtype: flow.linspace(0, 1, 3, dtype=dtype),
    "logspace": lambda dtype: flow.logspace(0, 1, 3, dtype=dtype),
    "module": lambda dtype: flow.nn.Linear(2, 2, dtype=dtype),
    "module.to": lambda dtype: flow.nn.Linear(2, 2).to(dtype),
    "new_zeros": lambda dtype: flow.ones(2).new_zeros(2, dtype=dtype),
    "normal": lambda dtype: flow.normal(0.0, 1.0, (2,), dtype=dtype),
    "ones": lambda dtype: flow.ones(2, dtype=dtype),
    "ones_like": lambda dtype: flow.ones_like(flow.ones(2), dtype=dtype),
    "rand": lambda dtype: flow.rand(2, dtype=dtype),
    "randint": lambda dtype: flow.randint(0, 3, (2,), dtype=dtype),
    "randn": lambda dtype: flow.randn(2, dtype=dtype),
    "randperm": lambda dtype: flow.randperm(3, dtype=dtype),
    "softmax": lambda dtype: flow.nn.functional.softmax(flow.ones(2), 0, dtype=dtype),
    "sum": lambda dtype: flow.ones(2).sum(dtype=dtype),
    "cumsum": lambda dtype: flow.ones(2).cumsum(0, dtype=dtype),
    "mean": lambda dtype: flow.ones(2).mean(dtype=dtype),
    "tensor": lambda dtype: flow.tensor([1], dtype=dtype),
    "to": lambda dtype: flow.ones(2).to(dtype),
    "to(dtype=)": lambda dtype: flow.ones(2).to(dtype=dtype),
    "type": lambda dtype: flow.ones(2).type(dtype),
    "view": lambda dtype: flow.ones(2).view(dtype),
    "zeros": lambda dtype: flow.zeros(2, dtype=dtype),
}


@pytest.mark.parametrize("make", MAKE)
def test_names_without_tensors_are_refused(make: str) -> None:
    for name in NAMES:
        with pytest.raises((TypeError, RuntimeError)) as caught:
            MAKE[make](getattr(dtypes, name))
        message = str(caught.value)
        assert name in message
        assert "`dtype` must be one that tensors have" in message or "floating" in message, message
