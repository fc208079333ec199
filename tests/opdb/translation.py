"""PyTorch's operator database in terms of `oneflow`: functions by name, arguments by value."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.testing._internal.opinfo.core import OpInfo

import oneflow as flow
from oneflow.tensor import Tensor
from tests.oracle import to_flow, to_numpy


class Untranslatable(Exception):
    """An argument that `oneflow` has no counterpart of, such as a sparse tensor."""


def function_of(info: OpInfo) -> Callable | None:
    """The function, method or property of `oneflow` that an entry of the database stands for.

    Entries that put arguments in another order, or that call a method, say so in a lambda, which
    then calls `oneflow` in PyTorch's place. None if `oneflow` has no such function.
    """
    is_lambda = getattr(info.op, "__name__", "") == "<lambda>"
    function = None if info.name in _OTHER_MEANING else _function_named(info.name, is_lambda)
    if function is None or not is_lambda:
        return function
    names = {**info.op.__globals__, "torch": flow, "wrapper_set_seed": _call}
    return types.FunctionType(
        info.op.__code__, names, "<lambda>", info.op.__defaults__, info.op.__closure__
    )


def is_seeded(info: OpInfo) -> bool:
    """True if the entry sets the seed before each call: its numbers are random."""
    code = getattr(info.op, "__code__", None)
    return code is not None and "wrapper_set_seed" in code.co_names


def _call(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _function_named(name: str, is_lambda: bool) -> Callable | None:
    """The names of entries leave out where a function is found.

    ``T`` is a property, ``uniform``, a lambda, calls the in-place method ``uniform_``.
    """
    found: Any = flow
    for part in name.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found
    names = (name, f"{name}_") if is_lambda else (name,)
    methods = (getattr(Tensor, method, None) for method in names)
    return next((method for method in methods if method is not None), None)


def translated(value: Any) -> Any:
    """The argument `value` for `oneflow`.

    Raises:
        Untranslatable: there is nothing like it.
    """
    if type(value) in (list, tuple, torch.Size):
        return (list if type(value) is list else tuple)(translated(part) for part in value)
    if isinstance(value, dict):
        return {name: translated(part) for name, part in value.items()}
    if isinstance(value, slice):
        return slice(translated(value.start), translated(value.stop), translated(value.step))
    convert = next(
        (conversion for kind, conversion in _CONVERSIONS.items() if isinstance(value, kind)), None
    )
    return value if convert is None else convert(value)


def _tensor(value: torch.Tensor) -> Tensor:
    """A copy of `value`, a leaf, with its strides and the memory around it."""
    if value.layout is not torch.strided or value.ndim > _MOST_DIMENSIONS:
        raise Untranslatable(f"{value.layout} of {value.ndim} dimensions")
    if value.is_meta:
        raise Untranslatable("a tensor without values")
    dtype = _counterpart(value.dtype)
    plain = value.detach().resolve_conj().resolve_neg()
    memory = plain.untyped_storage().nbytes() // plain.element_size()
    if memory == plain.numel() and plain.is_contiguous():
        made = _from_array(plain, dtype)
    else:
        whole = _from_array(plain.as_strided((memory,), (1,), 0), dtype)
        made = whole.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())
    return made.requires_grad_() if value.requires_grad else made


def _from_array(value: torch.Tensor, dtype: Any) -> Tensor:
    array = np.ascontiguousarray(to_numpy(value)).reshape(tuple(value.shape))
    made = to_flow(array)
    return made.to(dtype)


def _counterpart(value: Any) -> Any:
    """The object in `oneflow` that is called like PyTorch's `value`, such as a dtype."""
    found = getattr(flow, str(value).removeprefix("torch."), None)
    if found is None:
        raise Untranslatable(str(value))
    return found


def _module(value: torch.nn.Module) -> flow.nn.Module:
    """The layer of the same class; the database has those without arguments."""
    return getattr(flow.nn, type(value).__name__)()


def _same_numbers(generator: torch.Generator) -> flow.Generator:
    return flow.Generator().manual_seed(generator.initial_seed())


# Names that OneFlow documents with another meaning: its `slice` takes start, stop and step by axis.
_OTHER_MEANING = {"slice"}
# NumPy's limit.
_MOST_DIMENSIONS = 64
_CONVERSIONS: dict[Any, Callable] = {
    torch.Tensor: _tensor,
    torch.dtype: _counterpart,
    torch.memory_format: _counterpart,
    torch.layout: _counterpart,
    torch.device: str,
    torch.nn.Module: _module,
    torch.Generator: _same_numbers,
}
