"""The operator table: one row per operator, with sample calls.

`tests/laws` says what holds for all.

How to add operators: write ``tests/samples/<family>.py`` with a list ``OPERATORS``; nothing else
needs to know of it.

    from tests.samples.table import Operator, case, tensor

    OPERATORS = [
        Operator(
            "add",                                   # dotted name below `oneflow` and below `torch`
            cases=[
                case(tensor(2, 3), tensor(3)),       # the first runs in every dtype and every law
                case(tensor(2, 3), 1.5, alpha=2),    # further ones run in the row's first dtype
                case(tensor(0, 3), tensor(1, 3)),    # 0-size
                case(tensor(), tensor(2)),           # 0-dim
            ],
            dtypes=("float32", "int64"),             # the first is the main one
            errors=[case(tensor(2), tensor(3))],     # torch must raise, OneFlow the same type
        ),
    ]

* ``tensor(*shape)`` stands for random numbers of the row's dtype in ``[low, high)``; both libraries
  get the same ones. ``dtype=`` fixes its dtype, ``values=`` its contents, ``distinct=True`` bars
  ties, ``grad=False`` takes no gradient, ``layout=`` makes it ``"transposed"``, ``"expanded"`` or
  ``"strided"``. Tensors may stand in lists and tuples (`cat`).
* ``dtype("float64")`` stands for ``flow.float64`` and ``torch.float64``.
* If the libraries' names differ, or the call is more than one function, give `call`, a function of
  the library: ``call=lambda lib, x: lib.nn.functional.relu(x)``; or `torch`, the dotted name or
  callable on PyTorch's side only.
* Methods are named ``Tensor.name``. Methods and in-place forms with the operator's own name are
  tried without asking.
* Gradients are compared in float64 (and complex128 if the row has complex dtypes); ``grad=False``
  or ``second_grad=False`` turn that off, and ``grad_dtypes`` says otherwise.
* ``pytest tests/laws/test_operators.py -k family`` runs one family.
* Keep shapes few and small: every new operation on every new shape costs a compilation.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tests.samples

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int8", "uint8")
COMPLEX = ("complex64",)
BOOL = ("bool",)
REAL = ("float32", "int64", "float64", "float16", "bfloat16", "int32", "uint8")
REAL_AND_BOOL = (*REAL, *BOOL)
ALL = (*REAL, *BOOL, *COMPLEX)


@dataclass(frozen=True)
class TensorSample:
    """Stands for a tensor argument; see `tensor`."""

    shape: tuple[int, ...]
    dtype: str | None = None
    low: float = -2.0
    high: float = 2.0
    values: Any = None
    distinct: bool = False
    layout: str = "contiguous"
    grad: bool = True


def tensor(*shape: int, **options: Any) -> TensorSample:
    """A tensor argument of `shape`; options are the fields of `TensorSample`."""
    return TensorSample(shape, **options)


@dataclass(frozen=True)
class DTypeSample:
    """Stands for a dtype argument; see `dtype`."""

    name: str


def dtype(name: str) -> DTypeSample:
    """A dtype argument, the library's own."""
    return DTypeSample(name)


@dataclass(frozen=True)
class Case:
    """Arguments of one call; see `case`."""

    args: tuple
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        shown = [_short(argument) for argument in self.args]
        shown += [f"{name}={_short(value)}" for name, value in self.kwargs.items()]
        return f"({', '.join(shown)})"


def case(*args: Any, **kwargs: Any) -> Case:
    """One call with these arguments."""
    return Case(args, kwargs)


def _short(value: Any) -> str:
    if isinstance(value, TensorSample):
        default = TensorSample(value.shape)
        changed = {
            name: getattr(value, name)
            for name in TensorSample.__dataclass_fields__
            if name != "shape" and getattr(value, name) != getattr(default, name)
        }
        options = "".join(f", {name}={option}" for name, option in changed.items())
        return f"tensor({', '.join(map(str, value.shape))}{options})"
    if isinstance(value, DTypeSample):
        return value.name
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_short, value))}]"
    return repr(value)


@dataclass(frozen=True)
class Operator:
    """One row of the table.

    Attributes:
        name: dotted name below the library, or any unique name if `call` is given.
        cases: sample calls that work, or that raise in both libraries.
        dtypes: dtypes of the tensors that name none; the first is the main one.
        errors: calls that must raise.
        call: ``(library, *args, **kwargs) -> result`` in place of the function called `name`.
        torch: PyTorch's dotted name or callable if it differs.
        grad: compare gradients.
        second_grad: compare second gradients.
        grad_dtypes: dtypes to compare gradients in; None: float64, and complex128 for complex rows.
        tolerance: factor on the tolerance of each dtype.
        values: compare values; False for uninitialised memory.
        vary_numbers: a changed Python float compiles nothing new.
        variants: also try the method and the in-place form called like the operator.
        large: a call on large tensors, where numbers among the arguments keep `grown` from one.
    """

    name: str
    cases: Sequence[Case]
    dtypes: Sequence[str] = ("float32",)
    errors: Sequence[Case] = ()
    call: Callable | None = None
    torch: str | Callable | None = None
    grad: bool = True
    second_grad: bool = True
    grad_dtypes: Sequence[str] | None = None
    tolerance: float = 1.0
    values: bool = True
    vary_numbers: bool = True
    variants: bool = True
    large: Case | None = None

    @property
    def gradient_dtypes(self) -> Sequence[str]:
        """Dtypes to compare gradients in."""
        if not self.grad:
            return ()
        if self.grad_dtypes is not None:
            return self.grad_dtypes
        chosen = ("float64",) if any("float" in accepted for accepted in self.dtypes) else ()
        return (*chosen, "complex128") if any("complex" in d for d in self.dtypes) else chosen


# XLA's loops run along the last dimension and take up to 128 numbers at a time.
_LONG = 131
_MANY = 1031


def grown(row: Operator) -> Case | None:
    """A call on large tensors: above every vector width, and no multiple of it.

    The row's own, or its first case with other sizes. Equal ones stay equal, so that tensors still
    broadcast and agree: the one that is last in the largest tensor becomes a large odd number,
    others but 0 and 1 a small one. None if no tensor can grow. Whether it is a valid call, only
    calling it tells.
    """
    if row.large is not None:
        return row.large
    call = row.cases[0]
    shapes = [sample.shape for sample in _samples((*call.args, *call.kwargs.values()))]
    largest = max(shapes, key=math.prod, default=())
    last = next((size for size in reversed(largest) if size > 1), None)
    if last is None or 0 in largest:
        return None
    sizes = {size: 2 * size | 1 for shape in shapes for size in shape if size > 1}
    sizes[last] = _LONG
    while math.prod(sizes.get(size, size) for size in largest) < _MANY:
        sizes[last] += 2
    return Case(
        tuple(_grown(argument, sizes) for argument in call.args),
        {name: _grown(value, sizes) for name, value in call.kwargs.items()},
    )


def _samples(values: Iterable[Any]) -> Iterator[TensorSample]:
    for value in values:
        if isinstance(value, TensorSample):
            yield value
        elif isinstance(value, list | tuple):
            yield from _samples(value)


def _grown(value: Any, sizes: Mapping[int, int]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_grown(part, sizes) for part in value)
    if not isinstance(value, TensorSample):
        return value
    shape = tuple(sizes.get(size, size) for size in value.shape)
    values = value.values
    if values is not None:
        values = np.resize(np.asarray(values), shape).tolist()
    return replace(value, shape=shape, values=values)


def with_name(row: Operator, name: str, **changes: Any) -> Operator:
    """A row like `row` under another name."""
    return replace(row, name=name, **changes)


def operators() -> Iterator[tuple[str, Operator]]:
    """All rows, each with the name of its family."""
    for module in sorted(info.name for info in pkgutil.iter_modules(tests.samples.__path__)):
        if module != "table":
            for row in importlib.import_module(f"tests.samples.{module}").OPERATORS:
                yield module, row
