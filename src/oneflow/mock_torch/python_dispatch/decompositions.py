"""Functions that are other operators than those of their names: how they are composed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow.functional import return_types
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.primitives.strides import is_row_major, row_major
from oneflow.tensor.python_dispatch import is_wrapper
from oneflow.tensor.tensor import Tensor

#: Functions and methods by name: what is called in their place.
DECOMPOSITIONS: dict[str, Callable[..., Any]] = {}


def composition(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of what some functions are composed as."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            DECOMPOSITIONS[name] = function
        return function

    return register


def _called(name: str, is_reverse: bool = False) -> Callable[..., Any]:
    def call(first: Any, second: Any) -> Any:
        if not isinstance(second, Tensor | int | float | complex):
            return NotImplemented
        return operator(name, second, first) if is_reverse else operator(name, first, second)

    return call


_BINARY = {
    "add": "add",
    "mul": "mul",
    "sub": "sub",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
for _name, _operator in _BINARY.items():
    DECOMPOSITIONS[f"__{_name}__"] = _called(_operator)
    DECOMPOSITIONS[f"__i{_name}__"] = _called(f"{_operator}_")
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    DECOMPOSITIONS[f"__{_name}__"] = _called(_name)
for _name in ("add", "mul", "and", "or", "xor"):
    DECOMPOSITIONS[f"__r{_name}__"] = _called(_BINARY[_name])
for _name in ("floordiv", "mod", "pow"):
    DECOMPOSITIONS[f"__r{_name}__"] = _called(_BINARY[_name], is_reverse=True)
DECOMPOSITIONS["__rsub__"] = _called("rsub")
for _name, _operator in {
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "absolute": "abs",
    "not_equal": "ne",
    "less": "lt",
    "greater": "gt",
    "less_equal": "le",
    "greater_equal": "ge",
    "clip": "clamp",
    "arctan2": "atan2",
    "concat": "cat",
    "concatenate": "cat",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "__neg__": "neg",
    "__abs__": "abs",
    "__invert__": "bitwise_not",
    "logsigmoid": "log_sigmoid",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "view_as": "view",
    "fix": "trunc",
}.items():
    DECOMPOSITIONS[_name] = lambda *args, _operator=_operator, **kwargs: operator(
        _operator, *args, **kwargs
    )
    if not _name.startswith("__"):
        DECOMPOSITIONS[f"{_name}_"] = lambda *args, _operator=f"{_operator}_", **kwargs: operator(
            _operator, *args, **kwargs
        )


@composition("__rtruediv__")
def _reverse_quotient(self: Tensor, other: Any) -> Tensor:
    return operator("reciprocal", self) * other


@composition("__matmul__", "matmul")
def _matmul(
    input: Tensor,
    other: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
) -> Tensor:
    if not isinstance(other, Tensor):
        return NotImplemented
    x = operator("transpose", input, -2, -1) if transpose_a else input
    y = operator("transpose", other, -2, -1) if transpose_b else other
    return _product(x, y) if alpha == 1 else _product(x, y) * alpha


def _product(x: Tensor, y: Tensor) -> Tensor:
    dims = x.ndim, y.ndim
    direct = {(1, 1): "dot", (2, 2): "mm", (2, 1): "mv", (3, 3): "bmm"}.get(dims)
    if direct is not None and (direct != "bmm" or x.shape[0] == y.shape[0]):
        return operator(direct, x, y)
    if dims == (1, 2):
        return operator("squeeze", operator("mm", x.unsqueeze(0), y), 0)
    if y.ndim <= 2 and x.ndim >= 3:
        rows = _folded(x, (-1, x.shape[-1]))
        product = operator("mm" if y.ndim == 2 else "mv", rows, y)
        shape = (*x.shape[:-1], *y.shape[1:])
        return operator("_unsafe_view", product, list(shape))
    return _batched(x, y)


DECOMPOSITIONS["__rmatmul__"] = lambda self, other: _matmul(other, self)


def _folded(x: Tensor, shape: Sequence[int]) -> Tensor:
    """A view of another shape, or a copy if no strides describe one."""
    sizes = _sizes(x, shape)
    if x.is_contiguous():
        return operator("view", x, sizes)
    copy = operator("clone", x, memory_format=flow.contiguous_format)
    return operator("_unsafe_view", copy, sizes)


def _sizes(x: Tensor, shape: Sequence[int]) -> list[int]:
    rest = math.prod(size for size in shape if size != -1)
    return [x.numel() // max(rest, 1) if size == -1 else int(size) for size in shape]


def _batched(x: Tensor, y: Tensor) -> Tensor:
    """A product of batches of matrices, which are broadcast against each other."""
    if x.ndim == 1:
        return _batched(x.unsqueeze(0), y).squeeze(-2)
    if y.ndim == 1:
        return _batched(x, y.unsqueeze(1)).squeeze(-1)
    batch = list(flow.broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    x, y = (
        _folded(z.expand(*batch, *z.shape[-2:]), (math.prod(batch), *z.shape[-2:])) for z in (x, y)
    )
    product = operator("bmm", x, y)
    return operator("_unsafe_view", product, [*batch, x.shape[-2], y.shape[-1]])


@composition("tensordot")
def _tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
    if len(dims) != 2 or not all(isinstance(places, list | tuple) for places in dims):
        return NotImplemented  # the function says what is wrong
    first, second = dims
    sizes = [x.shape[dim] for x, places in ((a, first), (b, second)) for dim in places]
    if sizes[: len(first)] != sizes[len(first) :]:
        return NotImplemented  # one broadcasts, or the function says what is wrong
    first, second = [dim % a.ndim for dim in first], [dim % b.ndim for dim in second]
    rows = [dim for dim in range(a.ndim) if dim not in first]
    columns = [dim for dim in range(b.ndim) if dim not in second]
    shape = [a.shape[dim] for dim in rows] + [b.shape[dim] for dim in columns]
    count = math.prod(sizes[: len(first)])
    left = a.permute([*rows, *first]).reshape(math.prod(shape[: len(rows)]), count)
    right = b.permute([*second, *columns]).reshape(count, math.prod(shape[len(rows) :]))
    return operator("mm", left, right).reshape(shape)


@composition("outer", "ger")
def _outer(input: Tensor, vec2: Tensor) -> Tensor:
    return operator("view", input, [input.shape[0], 1]) * vec2


@composition("reshape")
def _reshape(input: Tensor, *shape: Any) -> Tensor:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if input.is_contiguous():
        return operator("view", input, [int(size) for size in sizes])
    return _folded(input, sizes)


DECOMPOSITIONS["reshape_as"] = lambda self, other: _reshape(self, *other.shape)
DECOMPOSITIONS["view_as"] = lambda self, other: operator("view", self, list(other.shape))
DECOMPOSITIONS["expand_as"] = lambda self, other: operator("expand", self, list(other.shape))


@composition("flatten")
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    if not input.ndim:
        return operator("view", input, [1])
    first, last = start_dim % input.ndim, end_dim % input.ndim
    if first == last:
        return input
    shape = input.shape
    return _reshape(input, *shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])


@composition("T")
def _reversed(self: Tensor) -> Tensor:
    return operator("permute", self, list(reversed(range(self.ndim))))


@composition("mT")
def _transposed_matrices(self: Tensor) -> Tensor:
    return operator("transpose", self, -2, -1)


DECOMPOSITIONS["adjoint"] = DECOMPOSITIONS["mT"]
DECOMPOSITIONS["data"] = lambda self: operator("detach", self)


@composition("narrow")
def _narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    first = int(start) + (input.shape[dim] if start < 0 else 0)
    return operator("slice", input, dim, first, first + length)


@composition("split")
def _split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    is_one = isinstance(split_size_or_sections, int)
    name = "split" if is_one else "split_with_sizes"
    return tuple(operator(name, tensor, split_size_or_sections, dim))


@composition("chunk")
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    size = input.shape[dim]
    if not size:
        return tuple(operator("split_with_sizes", input, [0] * chunks, dim))
    return tuple(operator("split", input, max(-(-size // chunks), 1), dim))


@composition("unbind", "__iter__")
def _unbind(input: Tensor, dim: int = 0) -> Any:
    return tuple(operator("unbind", input, dim))


DECOMPOSITIONS["__iter__"] = lambda self: iter(_unbind(self))


@composition("unsqueeze")
def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    return operator("unsqueeze", input, dim)


@composition("squeeze")
def _squeeze(input: Tensor, dim: Any = None) -> Tensor:
    return operator("squeeze", input) if dim is None else operator("squeeze", input, dim)


@composition("movedim", "moveaxis")
def _movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    moved = {t % input.ndim: s % input.ndim for s, t in zip(sources, targets, strict=True)}
    rest = iter(dim for dim in range(input.ndim) if dim not in moved.values())
    order = [moved[dim] if dim in moved else next(rest) for dim in range(input.ndim)]
    return operator("permute", input, order)


@composition("contiguous")
def _contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    if input.is_contiguous():
        return input
    return operator("clone", input, memory_format=flow.contiguous_format)


def _converted(input: Tensor, dtype: Any, device: Any, copy: bool) -> Tensor:
    options: dict[str, Any] = {}
    if dtype is not None and (dtype is not input.dtype or copy):
        options["dtype"] = dtype
    if device is not None and (flow.device(device) != input.device or copy):
        options["device"] = flow.device(device)
    return operator("_to_copy", input, **options) if options or copy else input


@composition("to")
def _to(input: Tensor, *args: Any, copy: bool = False, **options: Any) -> Tensor:
    dtype, device, other = options.get("dtype"), options.get("device"), options.get("other")
    for arg in args:
        if isinstance(arg, Tensor):
            other = arg
        elif isinstance(arg, flow.dtype):
            dtype = arg
        elif isinstance(arg, str | int | flow.device) and not isinstance(arg, bool):
            device = arg
    if other is not None:
        dtype, device = other.dtype, other.device
    return _converted(input, dtype, device, copy)


_DTYPES = {
    **{name: name for name in ("bool", "float", "double", "half", "bfloat16")},
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "byte": "uint8",
    "char": "int8",
}
for _name, _dtype in _DTYPES.items():
    DECOMPOSITIONS[_name] = lambda self, *args, _dtype=_dtype, **kwargs: _converted(
        self, getattr(flow, _dtype), None, False
    )
DECOMPOSITIONS["type_as"] = lambda self, other: _to(self, other)
DECOMPOSITIONS["cpu"] = lambda self, *args, **kwargs: _converted(self, None, "cpu", False)
DECOMPOSITIONS["cuda"] = lambda self, device="cuda", *args, **kwargs: _converted(
    self, None, device, False
)


@composition("where")
def _where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    if input is None:
        return condition.nonzero(as_tuple=True)
    tensors = [x for x in (input, other) if isinstance(x, Tensor)]
    dtype = tensors[0].dtype if tensors else flow.get_default_dtype()
    parts = [
        x
        if isinstance(x, Tensor)
        else operator("scalar_tensor", x, dtype=dtype, device=condition.device)
        for x in (input, other)
    ]
    return operator("where", condition, *parts)


@composition("Tensor.where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    return _where(condition, self, other)


@composition("Tensor.polygamma")
def _polygamma(self: Tensor, n: int) -> Tensor:
    return operator("polygamma", n, self)


@composition("linalg.diagonal")
def _diagonal(A: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return operator("diagonal", A, offset, dim1, dim2)


@composition("square")
def _square(input: Tensor) -> Tensor:
    return operator("pow", input, 2)


def _extreme(name: str, of_two: str) -> Callable[..., Any]:
    def extreme(input: Tensor, *args: Any, **options: Any) -> Any:
        other = options.get("other", args[0] if args else None)
        if isinstance(other, Tensor):
            return operator(of_two, input, other)
        result = operator(name, input, *args, **options)
        return result if isinstance(result, Tensor) else getattr(return_types, name)(*result)

    return extreme


DECOMPOSITIONS["max"], DECOMPOSITIONS["min"] = (
    _extreme("max", "maximum"),
    _extreme("min", "minimum"),
)


def _variance(name: str) -> Callable[..., Any]:
    def reduced(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Tensor:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif correction is None and dim is not None:
            correction = 1
        return operator(name, input, dim, correction=correction, keepdim=keepdim)

    return reduced


DECOMPOSITIONS["var"], DECOMPOSITIONS["std"] = _variance("var"), _variance("std")


def _along(name: str) -> Callable[..., Any]:
    def normalized(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
    ) -> Tensor:
        if dim is None:
            dim = 0 if input.ndim in (0, 1, 3) else 1
        if dtype is not None:
            input = _converted(input, dtype, None, False)
        return operator(name, input, dim, False)

    return normalized


DECOMPOSITIONS["softmax"], DECOMPOSITIONS["log_softmax"] = (
    _along("_softmax"),
    _along("_log_softmax"),
)


@composition("item")
def _item(self: Tensor) -> Any:
    return operator("_local_scalar_dense", self)


for _name, _number in (("int", int), ("float", float), ("complex", complex), ("bool", bool)):
    DECOMPOSITIONS[f"__{_name}__"] = lambda self, _number=_number: _number(_item(self))
DECOMPOSITIONS["__index__"] = lambda self: int(_item(self))


@composition("new_tensor")
def _new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    return flow.tensor(data, **{"dtype": self.dtype, "device": self.device, **options})


@composition("stride")
def _stride(self: Tensor, dim: int | None = None) -> Any:
    if not is_wrapper(self):
        return NotImplemented
    strides = _strides(self)
    return strides if dim is None else strides[dim]


def _strides(wrapper: Any) -> tuple[int, ...]:
    own = wrapper._value.layout.strides
    return row_major(wrapper.shape) if own is None else own


@composition("is_contiguous")
def _is_contiguous(self: Tensor, memory_format: Any = None) -> Any:
    return is_row_major(self.shape, _strides(self)) if is_wrapper(self) else NotImplemented


@composition("storage_offset")
def _storage_offset(self: Any) -> Any:
    return self._value.layout.offset if is_wrapper(self) else NotImplemented
