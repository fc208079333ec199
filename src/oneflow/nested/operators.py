"""Functions of nested tensors: element by element, of rows, and of each component."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from oneflow.base.composed_operand import NestedOperandError
from oneflow.base.layout import Layout
from oneflow.base.shape import wrap_dim
from oneflow.functional.shape.concat import cat as cat_dense, stack
from oneflow.nested.parts import Parts, RaggedSize
from oneflow.nested.tensor import NestedTensor, join, nested
from oneflow.tensor.tensor import Tensor

_DIMENSIONS = ("dim", "dims", "dim0", "dim1", "start_dim", "end_dim", "source", "destination")


def refuse(name: str, reason: str) -> NestedOperandError:
    """The error of a function that nested tensors have, but not so."""
    return NestedOperandError(f"`{name}` of nested tensors: {reason}")


def _is_dense(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, NestedTensor) and value.ndim > 0


def _called(function: Callable[..., Any], values: Sequence[Any], names: Iterable[str]) -> Any:
    """Call a function with values, of which the last are keyword arguments of these names."""
    keywords = dict(zip(reversed([*names]), reversed(values), strict=False))
    return function(*values[: len(values) - len(keywords)], **keywords)


def pointwise(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of elements, of nested tensors and of tensors that broadcast to components.

    Raises:
        RuntimeError: numbers of components differ.
    """
    operands = [*args, *kwargs.values()]
    found = [value for value in operands if isinstance(value, NestedTensor)]
    first = found[0]
    if any(len(x) != len(first) for x in found):
        sizes = [len(x) for x in found]
        raise RuntimeError(f"expected nested tensors of as many components, got {sizes}")
    dense = [value for value in operands if _is_dense(value)]
    same = all(x._parts.shapes == first._parts.shapes for x in found)
    rank = max((x.ndim for x in dense), default=0)
    if same and rank <= len(first._parts.regular()):

        def of_rows(*rows: Tensor) -> Tensor:
            given = iter(rows)
            filled = [next(given) if isinstance(v, NestedTensor) else v for v in operands]
            return _called(function, filled, kwargs)

        return on_rows(of_rows, rank, *found)
    return by_component(function, first, args, kwargs)


def on_rows(function: Callable[..., Any], row_dims: int, *inputs: NestedTensor) -> Any:
    """A function of tensors whose last dimensions are those of the components.

    Args:
        function: gets the rows of all components in one tensor, and gives one of as many rows.
        row_dims: the number of dimensions of a row; components do not differ in them.
        *inputs: nested tensors of the same shapes.
    """
    parts = inputs[0]._parts
    rank = inputs[0].ndim - 1
    row = tuple(int(size) for size in parts.sizes()[1 + rank - row_dims :])
    leading = [shape[: rank - row_dims] for shape in parts.shapes]
    count = sum(map(math.prod, leading))
    result = function(*(x._parts.values.view(count, *row) for x in inputs))
    shapes = tuple((*shape, *result.shape[1:]) for shape in leading)
    return nested(replace(parts, values=result.reshape(-1), shapes=shapes))


def by_component(
    function: Callable[..., Any], first: NestedTensor, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """A function of each component, and of the part of tensors of one size that belongs to it."""

    def part(value: Any, components: Any, number: int) -> Any:
        if components is not None:
            return components[number]
        if _is_dense(value) and value.ndim == first.ndim:
            return value[number if value.shape[0] > 1 else 0]
        return value

    values = [*args, *kwargs.values()]
    split = [v._parts.components() if isinstance(v, NestedTensor) else None for v in values]
    results = []
    for number in range(len(first)):
        parts = [part(v, c, number) for v, c in zip(values, split, strict=True)]
        results.append(_called(function, parts, kwargs))
    return gathered(results, first._parts)


def gathered(results: Sequence[Any], like: Parts, ragged_dim: int | None = None) -> Any:
    """Nested tensors of what a function gave for each component, in its tuples if it gave some."""
    if isinstance(results[0], Tensor):
        return join(results, like, ragged_dim)
    pieces = [gathered(piece, like, ragged_dim) for piece in zip(*results, strict=True)]
    kind: Any = type(results[0])
    return kind(*pieces) if hasattr(kind, "_fields") else kind(pieces)


def _shifted(name: str, dims: Any, ndim: int) -> Any:
    """Dimensions of components, of those of the nested tensor."""
    if isinstance(dims, Sequence):
        return tuple(_shifted(name, dim, ndim) for dim in dims)
    dim = wrap_dim(dims, ndim)
    if dim == 0:
        raise refuse(name, "it does not go along dimension 0, that of components")
    return dim - 1


def along_dimensions(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function with arguments that name dimensions, of each component.

    Raises:
        RuntimeError: a dimension is that of components.
    """
    name = function.__name__
    bound = inspect.signature(function).bind(*args, **kwargs)
    arguments = dict(bound.arguments)
    input: Any = arguments.pop(next(iter(arguments)))
    if name == "permute":
        order = [arguments.pop("dims"), *arguments.pop("more", ())]
        arguments = {"dims": _without_components(order)}
    else:
        ndim = input.ndim + (name == "unsqueeze")
        for key in _DIMENSIONS:
            if arguments.get(key) is not None:
                arguments[key] = _shifted(name, arguments[key], ndim)
    results = [function(part, **arguments) for part in input._parts.components()]
    return gathered(results, input._parts, _moved(name, input, arguments))


def _without_components(order: Sequence[Any]) -> tuple[int, ...]:
    flat = order[0] if isinstance(order[0], Sequence) else order
    dims = [wrap_dim(dim, len(flat)) for dim in flat]
    if dims[0] != 0:
        raise refuse("permute", f"dimension 0, that of components, stays, got {tuple(flat)}")
    return tuple(dim - 1 for dim in dims[1:])


def _moved(name: str, input: NestedTensor, arguments: dict[str, Any]) -> int:
    """The dimension in which components differ, after they have been changed."""
    place = input._parts.ragged_dim - 1
    if name in ("transpose", "swapaxes", "swapdims"):
        pair = [arguments[key] for key in arguments if key.startswith("dim")]
        place = {pair[0]: pair[1], pair[1]: pair[0]}.get(place, place)
    elif name == "permute":
        place = arguments["dims"].index(place)
    elif name == "unsqueeze":
        place += arguments["dim"] <= place
    elif name in ("squeeze", "select") and arguments.get("dim") is not None:
        dims = arguments["dim"]
        place -= sum(dim < place for dim in (dims if isinstance(dims, tuple) else (dims,)))
    return place + 1


def reduction(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function that reduces dimensions: of all elements, or of each component.

    A jagged tensor that is reduced where its components differ gives a tensor of one size.
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    arguments = dict(bound.arguments)
    input: Any = arguments.pop(next(iter(arguments)))
    dims = arguments.pop("dim", None)
    if dims is None or dims == ():
        return function(input._parts.values, **arguments)
    several = tuple(dims) if isinstance(dims, Sequence) else (dims,)
    wrapped = {wrap_dim(dim, input.ndim) for dim in several}
    parts = input._parts
    is_ragged = parts.layout is Layout.jagged and parts.ragged_dim in wrapped
    if 0 in wrapped and is_ragged and not arguments.get("keepdim"):
        return function(input.values(), dim=tuple(sorted(d - 1 for d in wrapped if d)), **arguments)
    shifted = _shifted(function.__name__, dims, input.ndim)
    results = [function(part, dim=shifted, **arguments) for part in parts.components()]
    if is_ragged:
        return _stacked(results)
    lost = 0 if arguments.get("keepdim") else sum(d < parts.ragged_dim for d in wrapped)
    return gathered(results, parts, parts.ragged_dim - lost)


def _stacked(results: Sequence[Any]) -> Any:
    if isinstance(results[0], Tensor):
        return stack(results)
    return type(results[0])(*map(_stacked, zip(*results, strict=True)))


def softmax(function: Callable[..., Any], input: Any, dim: int = -1, **kwargs: Any) -> Any:
    """A softmax: of rows at once if it goes along the last dimension."""
    last = wrap_dim(dim, input.ndim) == input.ndim - 1
    if last and input._parts.regular():
        return on_rows(lambda rows: function(rows, -1, **kwargs), 1, input)
    return along_dimensions(function, input, dim=dim, **kwargs)


def linear(function: Callable[..., Any], input: Any, weight: Tensor, bias: Any = None) -> Any:
    """A linear layer of the last dimension."""
    return on_rows(lambda rows: function(rows, weight, bias), 1, _with_rows(function, input, 1))


def norm_of_rows(
    function: Callable[..., Any], input: Any, normalized_shape: Any, *args: Any, **kwargs: Any
) -> Any:
    """Layer normalization of the last dimensions."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
    _with_rows(function, input, len(shape))
    return on_rows(
        lambda rows: function(rows, normalized_shape, *args, **kwargs), len(shape), input
    )


def _with_rows(function: Callable[..., Any], input: Any, row_dims: int) -> NestedTensor:
    if not isinstance(input, NestedTensor) or len(input._parts.regular()) < row_dims:
        raise refuse(
            function.__name__, f"components must agree in the last {row_dims} dimension(s)"
        )
    return input


def embedding(
    function: Callable[..., Any], input: Any, weight: Tensor, *args: Any, **options: Any
) -> Any:
    """Rows of a table for each index."""
    return on_rows(lambda indices: function(indices, weight, *args, **options), 0, input)


def matmul(function: Callable[..., Any], input: Any, other: Any) -> Any:
    """The products of components and a matrix, or the components of another nested tensor."""
    if isinstance(input, NestedTensor) and _is_dense(other) and other.ndim == 2:
        return on_rows(lambda rows: function(rows, other), 1, _with_rows(function, input, 1))
    first = input if isinstance(input, NestedTensor) else other
    return by_component(function, first, (input, other), {})


def cat(function: Callable[..., Any], tensors: Sequence[Any], dim: int = 0) -> Any:
    """Join nested tensors: their components, along any dimension, or one after another.

    Raises:
        RuntimeError: not all are nested.
    """
    if not all(isinstance(x, NestedTensor) for x in tensors):
        raise refuse("cat", "all tensors must be nested")
    first = tensors[0]
    parts = [x._parts.components() for x in tensors]
    where = wrap_dim(dim, first.ndim)
    if where == 0:
        everything = [part for components in parts for part in components]
        ragged = None if first._parts.ragged is None else RaggedSize()
        return join(everything, replace(first._parts, ragged=ragged))
    joined = [cat_dense(group, where - 1) for group in zip(*parts, strict=True)]
    return join(joined, first._parts)


def reshape(function: Callable[..., Any], input: Any, *sizes: Any) -> NestedTensor:
    """Give components other shapes: -1 keeps a size in which they differ, or is computed.

    Raises:
        RuntimeError: the number of components changes, or sizes do not fit.
    """
    flat = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
    parts = input._parts
    if flat[0] not in (-1, len(parts.shapes)):
        raise RuntimeError(f"a view keeps the {len(parts.shapes)} components, got {tuple(flat)}")
    places = [d for d, size in enumerate(flat) if isinstance(size, RaggedSize)]
    unknown = [d for d, size in enumerate(flat) if d and isinstance(size, int) and size == -1]
    place = (places or unknown or [parts.ragged_dim])[0]
    shapes = tuple(_viewed(shape, flat[1:], parts) for shape in parts.shapes)
    is_jagged = parts.layout is Layout.jagged
    return nested(replace(parts, shapes=shapes, ragged_dim=place if is_jagged else 1))


def _viewed(shape: Sequence[int], sizes: Sequence[Any], parts: Parts) -> tuple[int, ...]:
    """The shape of a component whose sizes are given, kept, or one of them computed."""
    length = shape[parts.ragged_dim - 1]
    known = [length if isinstance(size, RaggedSize) else int(size) for size in sizes]
    if known.count(-1) > 1:
        known = [shape[d] if size == -1 else size for d, size in enumerate(known)]
    rest = math.prod(size for size in known if size != -1)
    if -1 in known and rest:
        known[known.index(-1)] = math.prod(shape) // rest
    if math.prod(known) != math.prod(shape):
        raise RuntimeError(f"a component of shape {tuple(shape)} has no view of sizes {sizes}")
    return tuple(known)


def get_item(input: NestedTensor, index: Any) -> Tensor:
    """A component, several of them, or the same part of each."""
    first, rest = (index[0], index[1:]) if isinstance(index, tuple) else (index, ())
    components = input._parts.components()
    if isinstance(first, int):
        part = components[first]
        return part[rest] if rest else part
    if isinstance(first, slice):
        return join([part[rest] if rest else part for part in components[first]], input._parts)
    if first is Ellipsis:
        return join([part[(..., *rest)] for part in components], input._parts)
    raise refuse("index", f"dimension 0 takes a number or a slice, got {type(first).__name__}")
