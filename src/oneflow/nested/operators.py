"""Functions of nested tensors: element by element, of rows, and of each component."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oneflow.base.composed_operand import NestedOperandError
from oneflow.base.layout import Layout
from oneflow.base.shape import wrap_dim
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.linalg.matmul import matmul as matmul_dense
from oneflow.functional.nn.softmax import default_dim
from oneflow.functional.shape.concat import cat as cat_dense, stack
from oneflow.nested.parts import NestedParts, RaggedSize
from oneflow.nested.tensor import NestedTensor, join, nested
from oneflow.tensor.tensor import Tensor

_DIMENSIONS = ("dim", "dims", "dim0", "dim1", "start_dim", "end_dim", "source", "destination")
# Functions that dimension 0 takes, too.
_OF_COMPONENTS = ("chunk", "narrow", "select", "split")
_TRANSPOSES = ("transpose", "swapaxes", "swapdims")
# Functions that change the order of dimensions, by NumPy's that do so.
_INDEX_FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    **dict.fromkeys(_TRANSPOSES, np.swapaxes),
    "movedim": np.moveaxis,
    "moveaxis": np.moveaxis,
    "permute": np.transpose,
    "unsqueeze": np.expand_dims,
}


def unsupported(name: str, reason: str) -> NestedOperandError:
    """The error of a function that nested tensors have, but not so."""
    return NestedOperandError(f"`{name}` of nested tensors: {reason}")


def _is_dense(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, NestedTensor) and value.ndim > 0


def _called(function: Callable[..., Any], values: Sequence[Any], names: Iterable[str]) -> Any:
    """Call a function with values; the last ones are keyword arguments of these names."""
    keywords = dict(zip(reversed([*names]), reversed(values), strict=False))
    return function(*values[: len(values) - len(keywords)], **keywords)


def pointwise(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of elements, of nested tensors and of tensors that broadcast to components.

    Raises:
        RuntimeError: numbers of components, or of dimensions, or lengths differ.
    """
    operands = [*args, *kwargs.values()]
    tensors = [value for value in operands if isinstance(value, NestedTensor)]
    first = tensors[0]
    _check_same_shapes(tensors)
    dense = [value for value in operands if _is_dense(value)]
    same = all(x._parts.shapes == first._parts.shapes for x in tensors)
    rank = max((x.ndim for x in dense), default=0)
    if same and rank <= len(first._parts.regular()):

        def of_rows(*rows: Tensor) -> Tensor:
            row_iterator = iter(rows)
            filled = [next(row_iterator) if isinstance(v, NestedTensor) else v for v in operands]
            return _called(function, filled, kwargs)

        return on_rows(of_rows, rank, *tensors)
    result = by_component(function, first, args, kwargs)
    for x in (x for x in tensors if x.layout is Layout.jagged):
        if result._parts.lengths() != x._parts.lengths():
            raise RuntimeError(
                f"`{function.__name__}` of nested tensors does not broadcast along the dimension in"
                f" which components differ, got lengths {x._parts.lengths()} for results of"
                f" {result._parts.lengths()}"
            )
    return result


def _check_same_shapes(tensors: Sequence[NestedTensor]) -> None:
    if len({len(x) for x in tensors}) > 1:
        sizes = [len(x) for x in tensors]
        raise RuntimeError(f"expected nested tensors of as many components, got {sizes}")
    if len({x.ndim for x in tensors}) > 1:
        ranks = [x.ndim for x in tensors]
        raise RuntimeError(f"expected nested tensors of as many dimensions, got {ranks}")


def on_rows(function: Callable[..., Any], row_dims: int, *inputs: NestedTensor) -> Any:
    """Apply a function along the last dimensions of the components.

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
    function: Callable[..., Any],
    first: NestedTensor,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    ragged_dim: int | None = None,
) -> Any:
    """A function of each component, and of the part of tensors of one size that belongs to it.

    Raises:
        RuntimeError: tensors of one size have parts of other components.
    """
    name = function.__name__
    values = [_parts_for(name, value, first) for value in (*args, *kwargs.values())]
    results = [_called(function, parts, kwargs) for parts in zip(*values, strict=True)]
    return gathered(name, results, first._parts, ragged_dim)


def _parts_for(name: str, value: Any, first: NestedTensor) -> Sequence[Any]:
    """The part of each component: itself, a part of a tensor of one size, or a whole value."""
    if isinstance(value, NestedTensor):
        return value._parts.components()
    count = len(first)
    if not _is_dense(value) or value.ndim < first.ndim:
        return [value] * count
    if value.ndim > first.ndim or value.shape[0] not in (1, count):
        raise RuntimeError(
            f"`{name}` of nested tensors of {first.ndim} dimensions and {count} components takes"
            f" tensors of as many dimensions or fewer, the first of size 1 or {count}, got"
            f" {tuple(value.shape)}"
        )
    return [value[number if value.shape[0] > 1 else 0] for number in range(count)]


def gathered(
    name: str, results: Sequence[Any], like: NestedParts, ragged_dim: int | None = None
) -> Any:
    """Nested tensors of what a function gave for each component, in its tuples if it gave some.

    Args:
        name: the function's name.
        results: its results.
        like: the parts of the tensor whose layout results have.
        ragged_dim: the dimension in which components of a jagged tensor differ, if another; 0 if
            the function has removed it, which makes tensors of one size.

    Raises:
        RuntimeError: the function gave more results for one component than for another.
    """
    if not results:
        raise unsupported(name, "there must be components, got none")
    if ragged_dim == 0 and like.layout is Layout.jagged:
        return _stacked(results)
    if isinstance(results[0], Tensor):
        return join(results, like, ragged_dim)
    counts = [len(tensors) for tensors in results]
    if len(set(counts)) > 1:
        raise unsupported(name, f"components must give as many tensors, got {counts}")
    joined = [gathered(name, tensors, like, ragged_dim) for tensors in zip(*results, strict=True)]
    kind: Any = type(results[0])
    return kind(*joined) if hasattr(kind, "_fields") else kind(joined)


def _shifted(name: str, dims: Any, ndim: int) -> Any:
    """Convert dimensions of the nested tensor to dimensions of its components."""
    if isinstance(dims, Sequence):
        return tuple(_shifted(name, dim, ndim) for dim in dims)
    dim = wrap_dim(dims, ndim)
    if dim == 0:
        raise unsupported(name, "it does not go along dimension 0, that of components")
    return dim - 1


def along_dimensions(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function with arguments that name dimensions, of each component.

    Raises:
        RuntimeError: a dimension is that of components.
    """
    name = function.__name__
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    input: Any = arguments.pop(next(iter(arguments)))
    if more := arguments.pop("more", ()):
        first = "dims" if "dims" in arguments else "dim"
        arguments[first] = (arguments[first], *more)
    _check_dimensions(name, arguments)
    if name in _OF_COMPONENTS and wrap_dim(arguments["dim"], input.ndim) == 0:
        return _along_components(function, input, arguments)
    if name == "permute":
        arguments["dims"] = _without_components(arguments["dims"])
    else:
        ndim = input.ndim + (name == "unsqueeze")
        for key in _DIMENSIONS:
            if arguments.get(key) is not None:
                arguments[key] = _shifted(name, arguments[key], ndim)
    results = [function(part, **arguments) for part in input._parts.components()]
    place = _moved(name, input._parts, arguments) if results else None
    return gathered(name, results, input._parts, place)


def _check_dimensions(name: str, arguments: dict[str, Any]) -> None:
    """Refuse what goes across components by default, and permutations given as two dimensions."""
    key = {"roll": "dims", "squeeze": "dim"}.get(name)
    if key is not None and arguments[key] is None:
        raise unsupported(name, f"`{key}` must be given, all dimensions include that of components")
    if name in _TRANSPOSES and arguments["dim1"] is None:
        raise unsupported(name, f"`dim0` and `dim1` must be numbers, got {arguments['dim0']}")


def _along_components(
    function: Callable[..., Any], input: NestedTensor, arguments: dict[str, Any]
) -> Any:
    """Components that a function of dimension 0 picks, or nested tensors of several."""
    components = input._parts.components()

    def of_components(numbers: Any) -> Any:
        if not isinstance(numbers, Tensor):
            return type(numbers)(map(of_components, numbers))
        if numbers.ndim:
            return join([components[number] for number in numbers.tolist()], input._parts)
        return components[int(numbers.item())]

    return of_components(function(arange(len(components)), **arguments))


def _without_components(order: Sequence[int]) -> tuple[int, ...]:
    dims = [wrap_dim(dim, len(order)) for dim in order]
    if dims[:1] != [0]:
        raise unsupported("permute", f"dimension 0, that of components, stays, got {tuple(order)}")
    return tuple(dim - 1 for dim in dims[1:])


def _moved(name: str, parts: NestedParts, arguments: dict[str, Any]) -> int:
    """The dimension in which components differ after a change; 0 if the change removes it."""
    place, shape = parts.ragged_dim - 1, parts.shapes[0]
    if name in _INDEX_FUNCTIONS:
        # Sizes that differ from each other and from 1 show where each dimension goes.
        marked = np.broadcast_to(0, tuple(range(2, len(shape) + 2)))
        return 1 + _INDEX_FUNCTIONS[name](marked, *arguments.values()).shape.index(place + 2)
    if name == "select":
        return 0 if arguments["dim"] == place else 1 + place - (arguments["dim"] < place)
    if name == "squeeze":
        dims = arguments["dim"] if isinstance(arguments["dim"], tuple) else (arguments["dim"],)
        if place in dims and parts.layout is Layout.jagged:
            raise unsupported(name, f"`dim` must not be {place + 1}, in which components differ")
        return 1 + place - sum(dim < place and shape[dim] == 1 for dim in dims)
    if name == "unflatten":
        dim, sizes = arguments["dim"], tuple(arguments["sizes"])
        within = sizes.index(-1) if dim == place and -1 in sizes else 0
        return 1 + place + (len(sizes) - 1 if dim < place else within)
    if name == "flatten":
        start, end = arguments["start_dim"], arguments["end_dim"]
        return 1 + place - max(0, min(place, end) - start)
    return place + 1


def reduction(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function that reduces dimensions: of all elements, or of each component.

    A jagged tensor that is reduced where its components differ gives a tensor of one size.
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    arguments = dict(bound.arguments)
    input: Any = arguments.pop(next(iter(arguments)))
    if isinstance(arguments.get("dim"), Tensor) or arguments.get("other") is not None:
        return pointwise(function, *args, **kwargs)
    dims = arguments.pop("dim", None)
    if dims is None or dims == ():
        if arguments.get("keepdim"):
            raise unsupported(function.__name__, "`keepdim` must be False where all are reduced")
        return function(input._parts.values, **arguments)
    dims_tuple = tuple(dims) if isinstance(dims, Sequence) else (dims,)
    wrapped = {wrap_dim(dim, input.ndim) for dim in dims_tuple}
    parts = input._parts
    is_ragged = parts.layout is Layout.jagged and parts.ragged_dim in wrapped
    if 0 in wrapped and is_ragged and not arguments.get("keepdim"):
        return function(input.values(), dim=tuple(sorted(d - 1 for d in wrapped if d)), **arguments)
    shifted = _shifted(function.__name__, dims, input.ndim)
    results = [function(part, dim=shifted, **arguments) for part in parts.components()]
    removed = 0 if arguments.get("keepdim") else sum(d < parts.ragged_dim for d in wrapped)
    place = 0 if is_ragged else parts.ragged_dim - removed
    return gathered(function.__name__, results, parts, place)


def _stacked(results: Sequence[Any]) -> Any:
    if isinstance(results[0], Tensor):
        return stack(results)
    return type(results[0])(*map(_stacked, zip(*results, strict=True)))


def softmax(
    function: Callable[..., Any], input: Any, dim: int | None = None, *args: Any, **kwargs: Any
) -> Any:
    """A softmax: of rows at once if it goes along the last dimension."""
    dim = default_dim(input.ndim) if dim is None else dim
    last = wrap_dim(dim, input.ndim) == input.ndim - 1
    if last and input._parts.regular():
        return on_rows(lambda rows: function(rows, -1, *args, **kwargs), 1, input)
    return along_dimensions(function, input, dim, *args, **kwargs)


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
        raise unsupported(
            function.__name__, f"components must agree in the last {row_dims} dimension(s)"
        )
    return input


def embedding(
    function: Callable[..., Any], input: Any, weight: Tensor, *args: Any, **options: Any
) -> Any:
    """Rows of a table for each index."""
    return on_rows(lambda indices: function(indices, weight, *args, **options), 0, input)


def matmul(function: Callable[..., Any], input: Any, other: Any) -> Any:
    """The products of components and a matrix, or the components of another nested tensor.

    Raises:
        RuntimeError: numbers of components or of dimensions differ.
    """
    if isinstance(input, NestedTensor) and _is_dense(other) and other.ndim == 2:
        return on_rows(lambda rows: function(rows, other), 1, _with_rows(function, input, 1))
    first = input if isinstance(input, NestedTensor) else other
    _check_same_shapes([x for x in (input, other) if isinstance(x, NestedTensor)])
    return by_component(function, first, (input, other), {}, _of_product(input, other))


def _of_product(input: Any, other: Any) -> int:
    """The dimension in which products differ; 0 if it is the one that they sum over."""
    if isinstance(input, NestedTensor):
        place = input._parts.ragged_dim
        return place if place < input.ndim - 1 else 0
    place = other._parts.ragged_dim
    return 0 if place == max(1, other.ndim - 2) else place - (input.ndim == 1)


def bmm(function: Callable[..., Any], input: Any, mat2: Any) -> Any:
    """The products of components that are matrices.

    Raises:
        RuntimeError: an operand has other than three dimensions.
    """
    for name, operand in (("input", input), ("mat2", mat2)):
        if operand.ndim != 3:
            raise RuntimeError(f"`bmm` takes tensors of 3 dimensions, got {operand.ndim}: `{name}`")
    return matmul(matmul_dense, input, mat2)


def cat(function: Callable[..., Any], tensors: Sequence[Any], dim: int = 0) -> Any:
    """Join nested tensors: their components, along any dimension, or one after another.

    Raises:
        RuntimeError: not all are nested.
    """
    if not all(isinstance(x, NestedTensor) for x in tensors):
        raise unsupported("cat", "all tensors must be nested")
    first = tensors[0]
    _check_same_shapes(tensors if wrap_dim(dim, first.ndim) else tensors[:1])
    parts = [x._parts.components() for x in tensors]
    where = wrap_dim(dim, first.ndim)
    if where == 0:
        flat = [part for components in parts for part in components]
        return join(flat, first._parts)
    joined = [cat_dense(group, where - 1) for group in zip(*parts, strict=True)]
    return join(joined, first._parts)


def reshape(function: Callable[..., Any], input: Any, *sizes: Any) -> NestedTensor:
    """Give components other shapes: -1 keeps a size in which they differ, or is computed.

    Raises:
        RuntimeError: the number of components changes, or sizes do not fit.
    """
    flat = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
    parts = input._parts
    if not flat:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not parts.shapes:
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if flat[0] not in (-1, len(parts.shapes)):
        raise RuntimeError(f"a view keeps the {len(parts.shapes)} components, got {tuple(flat)}")
    places = [d for d, size in enumerate(flat) if isinstance(size, RaggedSize)]
    unknown = [d for d, size in enumerate(flat) if d and isinstance(size, int) and size == -1]
    place = (places or unknown or [parts.ragged_dim])[0]
    shapes = tuple(_as_view(shape, flat[1:], parts) for shape in parts.shapes)
    return nested(parts.changed(parts.values, shapes, place))


def _as_view(shape: Sequence[int], sizes: Sequence[Any], parts: NestedParts) -> tuple[int, ...]:
    """The shape of a component whose sizes are given, kept, or one of them computed."""
    length = shape[parts.ragged_dim - 1]
    lengths = [length if isinstance(size, RaggedSize) else int(size) for size in sizes]
    if lengths.count(-1) > 1:
        lengths = [shape[d] if size == -1 else size for d, size in enumerate(lengths)]
    rest = math.prod(size for size in lengths if size != -1)
    if -1 in lengths and rest:
        lengths[lengths.index(-1)] = math.prod(shape) // rest
    if math.prod(lengths) != math.prod(shape):
        raise RuntimeError(f"a component of shape {tuple(shape)} has no view of sizes {sizes}")
    return tuple(lengths)


def get_item(input: NestedTensor, index: Any) -> Any:
    """A component, several of them, or the same part of each.

    Raises:
        RuntimeError: dimension 0 is asked for anything but a number or a slice.
    """
    entries = index if isinstance(index, tuple) else (index,)
    places = [number for number, entry in enumerate(entries) if entry is Ellipsis]
    if places:
        missing = input.ndim - sum(entry is not None for entry in entries) + 1
        entries = (*entries[: places[0]], *[slice(None)] * missing, *entries[places[0] + 1 :])
    first, rest = entries[0], entries[1:]
    components = input._parts.components()
    if isinstance(first, int) and not isinstance(first, bool):
        part = components[first]
        return part[rest] if rest else part
    if not isinstance(first, slice):
        raise unsupported(
            "index", f"dimension 0 takes a number or a slice, got {type(first).__name__}"
        )
    selected = components[first]
    if not rest:
        return join(selected, input._parts)
    place = _indexed(input._parts, rest)
    return gathered("index", [part[rest] for part in selected], input._parts, place)


def _indexed(parts: NestedParts, index: Sequence[Any]) -> int:
    """The dimension of parts of components in which they differ; 0 if a number has taken it."""
    if parts.layout is not Layout.jagged:
        return parts.ragged_dim
    dim = result_dim = 0
    for entry in index:
        if (entry is not None and not isinstance(entry, (int, slice))) or isinstance(entry, bool):
            raise unsupported(
                "index",
                f"jagged ones take numbers, slices and None, got {type(entry).__name__}",
            )
        if entry is not None and dim == parts.ragged_dim - 1:
            return result_dim + 1 if isinstance(entry, slice) else 0
        result_dim += not isinstance(entry, int)
        dim += entry is not None
    return parts.ragged_dim + result_dim - dim
