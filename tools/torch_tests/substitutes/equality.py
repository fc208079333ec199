"""Comparing what tests expect with what they find, by values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

_NUMBERS = (bool, int, float, complex, np.generic)
#: The relative and absolute tolerance of values of a data type; integers are equal or not.
_TOLERANCES = {
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
    torch.float32: (1.3e-6, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}
_TYPES_OF_NUMBERS = {float: torch.float32, complex: torch.complex64}


@dataclass(frozen=True)
class Rules:
    """The strictness of a comparison.

    Attributes:
        atol: the absolute tolerance, or None for that of the data type.
        rtol: the relative tolerance, or None for that of the data type.
        least: tolerances of the test itself, absolute and relative, which hold if they are larger.
        equal_nan: whether two that are no number are equal.
        exact_dtype: whether tensors have the same data type.
        exact_stride: whether tensors have the same strides.
    """

    atol: float | None = None
    rtol: float | None = None
    least: tuple[float, float] = (0, 0)
    equal_nan: bool = True
    exact_dtype: bool = True
    exact_stride: bool = False


def difference(x: Any, y: Any, rules: Rules) -> str | None:
    """The first difference, or None if everything is equal."""
    if any(isinstance(operand, (torch.Tensor, np.ndarray)) for operand in (x, y)):
        return _tensors(x, y, rules)
    if all(isinstance(operand, _NUMBERS) for operand in (x, y)):
        return _numbers(x, y, rules)
    if any(isinstance(operand, (str, bytes)) for operand in (x, y)):
        return None if x == y else f"{x!r} is not {y!r}"
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        if set(x) != set(y):
            return f"keys {list(x)} are not {list(y)}"
        return _first(difference(x[key], y[key], rules) for key in x)
    if isinstance(x, AbstractSet) or isinstance(y, AbstractSet):
        return None if x == y else f"{x} is not {y}"
    if isinstance(x, Sequence) and isinstance(y, Sequence):
        if len(x) != len(y):
            return f"{len(x)} elements in place of {len(y)}"
        return _first(difference(a, b, rules) for a, b in zip(x, y, strict=True))
    return None if x == y else f"{x!r} is not {y!r}"


def _first(found: Any) -> str | None:
    return next((message for message in found if message is not None), None)


def _tolerances(dtypes: list, rules: Rules) -> tuple[float, float]:
    known = [_TOLERANCES.get(dtype, (0, 0)) for dtype in dtypes]
    rtol = max(pair[0] for pair in known) if rules.rtol is None else rules.rtol
    atol = max(pair[1] for pair in known) if rules.atol is None else rules.atol
    return max(rtol, rules.least[1]), max(atol, rules.least[0])


def _numbers(x: Any, y: Any, rules: Rules) -> str | None:
    rtol, atol = _tolerances([_TYPES_OF_NUMBERS.get(type(number)) for number in (x, y)], rules)
    if isinstance(x, int) and isinstance(y, int) and not rtol and not atol:
        return None if x == y else f"{x} is not {y}"
    with np.errstate(all="ignore"):
        close = np.isclose(x, y, rtol, atol, equal_nan=rules.equal_nan)
    return None if close else f"{x} is not {y}"


def _tensors(x: Any, y: Any, rules: Rules) -> str | None:
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        x = torch.as_tensor(x)
    if x is None or y is None or isinstance(x, str) or isinstance(y, str):
        return f"{type(x).__name__} is no {type(y).__name__}"
    both = [operand for operand in (x, y) if isinstance(operand, torch.Tensor)]
    exact_dtype = rules.exact_dtype and not any(
        isinstance(e, (*_NUMBERS, Sequence)) for e in (x, y)
    )
    like = both[0] if both else torch.as_tensor(x)
    numbers = any(isinstance(operand, _NUMBERS) for operand in (x, y))
    x, y = (_as_tensor(operand, like) for operand in (x, y))
    if x.layout != y.layout:
        return f"layout {x.layout} is not {y.layout}"
    if numbers and x.numel() == y.numel() == 1:
        x, y = x.reshape(()), y.reshape(())
    if tuple(x.shape) != tuple(y.shape):
        return f"shape {tuple(x.shape)} is not {tuple(y.shape)}"
    if exact_dtype and x.dtype != y.dtype:
        return f"dtype {x.dtype} is not {y.dtype}"
    if rules.exact_stride and x.stride() != y.stride():
        return f"strides {x.stride()} are not {y.stride()}"
    if x.device.type == "meta" or y.device.type == "meta":
        return None
    return _arrays(_array(x), _array(y), [x.dtype, y.dtype], rules)


def _as_tensor(value: Any, like: torch.Tensor) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (*_NUMBERS, np.ndarray)):
        return torch.as_tensor(value)
    return torch.as_tensor(value, dtype=like.dtype)


def _array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.cpu().resolve_conj().resolve_neg().numpy()


def _arrays(x: np.ndarray, y: np.ndarray, dtypes: list, rules: Rules) -> str | None:
    rtol, atol = _tolerances(dtypes, rules)
    if rtol or atol or x.dtype.kind in "fc" or y.dtype.kind in "fc":
        common = np.result_type(x, y, np.float64)
        with np.errstate(all="ignore"):
            close = np.isclose(x.astype(common), y.astype(common), rtol, atol, rules.equal_nan)
    else:
        close = x == y
    wrong = np.flatnonzero(~np.asarray(close))
    if not wrong.size:
        return None
    place = wrong[0]
    return (
        f"values differ in {wrong.size} of {x.size} places, "
        f"first {x.ravel()[place]} and {y.ravel()[place]} at {place}"
    )
