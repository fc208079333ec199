"""``x[...]`` and ``x[...] = value``: an index is taken apart once, then read or written.

An index has a basic part (numbers, slices, None, Ellipsis), which is a chain of views, and an
advanced part (index tensors, lists and masks), which gathers from that view.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.base.shape import broadcast_shapes
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.primitives.operators import indexing as p, shape as views
from oneflow.primitives.operators.elementwise import add, cast, where
from oneflow.program.value import Value
from oneflow.tensor.call import apply_view, wrap
from oneflow.tensor.element_views import element_view, write_element
from oneflow.tensor.host_gather import gather_on_host
from oneflow.tensor.index_entries import (
    NO_DIMENSIONS,
    SliceError,
    bound_of_slice,
    common_shape,
    entries_of,
    select_first,
    select_leading,
)
from oneflow.tensor.memory_views import join_storage
from oneflow.tensor.operands import element_value
from oneflow.tensor.positions import positions_of_nonzero
from oneflow.tensor.sample_views import SAMPLES, view_of_sample
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import filled_value, import_array, on_device
from oneflow.tensor.view_chain import (
    NO_VIEWS,
    ViewCall,
    ViewChain,
    layout_without_copies,
    overlapping,
    positions_seen,
    replay,
    scatter_back,
)
from oneflow.tensor.views import check_writable, keep_history, share, unwrap, write

_MASK_OF_INTEGERS = (
    "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
)
_BOUNDS = frozenset({int, type(None)})
_POSITIONS: Any = object()  # any tensor of positions in an index that is taken apart once
_INDEX_DTYPES = (dt.int64, dt.int32, dt.int16, dt.int8)


@dataclass(slots=True)
class ParsedIndex:
    """An index taken apart.

    Attributes:
        view_calls: the basic part: calls of view primitives from the indexed tensor.
        shape: that of the view at their end.
        indices: ``(dimension of the view, index tensor or mask)`` of the advanced part.
    """

    view_calls: ViewChain
    shape: tuple[int, ...]
    indices: list[tuple[int, Tensor]] = field(default_factory=list)


class _Parser:
    """Walks over the entries of an index and the dimensions of the tensor side by side."""

    def __init__(self, shape: tuple[int, ...], device: Any, entries: tuple) -> None:
        self.shape = shape
        self.device = device
        self.dim = 0
        self.selected: dict[int, Any] = {}
        self.sliced: dict[int, tuple[int, int, int]] = {}
        # The result's dimensions: the tensor's own (kept), None for a new one.
        self.layout: list[int | None] = []
        self.indices: list[tuple[int, Tensor]] = []
        self.left = len(self.shape) - sum(map(_consumed_dims, entries))
        if self.left < 0:
            raise IndexError(f"too many indices for tensor of dimension {len(self.shape)}")
        seen_ellipsis = False
        for entry in entries:
            if entry is Ellipsis:
                self._keep(0 if seen_ellipsis else self.left)
                seen_ellipsis = True
            else:
                self._take(entry)
        self._keep(len(self.shape) - self.dim)

    def _keep(self, count: int) -> None:
        self.layout.extend(range(self.dim, self.dim + count))
        self.dim += count

    def _take(self, entry: Any) -> None:
        if entry is None:
            self.layout.append(None)
        elif isinstance(entry, slice):
            self._slice(entry)
        elif isinstance(entry, Tensor) and not (entry.ndim == 0 and entry.dtype in _INDEX_DTYPES):
            self._advanced(entry)
        elif entry is _POSITIONS:
            self.indices.append((len(self.layout), entry))
            self._keep(1)
        elif isinstance(entry, bool):
            self._advanced(import_array(entry, None, self.device))
        else:
            self._number(entry)

    def _slice(self, entry: slice) -> None:
        size = self.shape[self.dim]
        given_step = bound_of_slice(entry.step)
        step = 1 if given_step is None else given_step
        if step <= 0:
            raise ValueError(
                f"step must be greater than zero, got {step}; flip() turns a dimension"
            )
        bounds = slice(bound_of_slice(entry.start), bound_of_slice(entry.stop))
        start, stop, _ = bounds.indices(size)
        length = max(0, -((start - stop) // step))
        if length != size or step != 1:
            # An empty slice may start behind the end, where nothing can be read.
            self.sliced[self.dim] = (start if length else 0, length, step)
        self._keep(1)

    def _number(self, entry: Any) -> None:
        dim, size = self.dim, self.shape[self.dim]
        self.dim += 1
        if isinstance(entry, Tensor):
            index = p.wrap_index(unwrap(on_device(entry, self.device)), size=size, dim=dim)
            self.selected[dim] = index
            return
        index = operator.index(entry)
        if not -size <= index < size:
            raise p.out_of_bounds(index, dim, size)
        self.selected[dim] = index + size if index < 0 else index

    def _advanced(self, entry: Tensor) -> None:
        if entry.dtype is dt.uint8:
            warn_in_place_of_pytorch(_MASK_OF_INTEGERS)
        elif entry.dtype is not dt.bool_:
            if entry.dtype not in _INDEX_DTYPES:
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            self.indices.append((len(self.layout), on_device(entry, self.device)))
            self._keep(1)
            return
        if entry.ndim == 0:
            # A truth value selects from a new dimension of size 1.
            mask = views.reshape(unwrap(on_device(entry, self.device)), shape=(1,))
            self.indices.append((len(self.layout), wrap(mask)))
            self.layout.append(None)
            return
        want = self.shape[self.dim : self.dim + entry.ndim]
        if entry._value.spec.shape != want:
            raise IndexError(
                f"The shape of the mask {list(entry.shape)} at index {self.dim} does not match the "
                f"shape of the indexed tensor {list(self.shape)} at index {self.dim}"
            )
        self.indices.append((len(self.layout), on_device(entry, self.device)))
        self._keep(entry.ndim)

    def parsed_index(self) -> ParsedIndex:
        """The parsed index, as calls of view primitives and index tensors."""
        view_calls: list[ViewCall] = []
        if self.selected:
            attributes = {"dims": tuple(self.selected)}
            view_calls.append((views.select, tuple(self.selected.values()), attributes))
        kept_dims = [dim for dim in range(len(self.shape)) if dim not in self.selected]
        sizes = {dim: self.shape[dim] for dim in kept_dims}
        if self.sliced:
            starts, lengths, strides = zip(*self.sliced.values(), strict=True)
            dims = tuple(kept_dims.index(dim) for dim in self.sliced)
            attributes = {"dims": dims, "sizes": lengths, "steps": strides}
            view_calls.append((views.slice_, starts, attributes))
            sizes.update(zip(self.sliced, lengths, strict=True))
        shape = tuple([1 if dim is None else sizes[dim] for dim in self.layout])
        if None in self.layout or (not view_calls and not self.indices):
            view_calls.append((views.reshape, (), {"shape": shape}))
        return ParsedIndex(ViewChain(view_calls), shape, self.indices)


def _consumed_dims(entry: Any) -> int:
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    if isinstance(entry, Tensor) and entry.dtype in (dt.bool_, dt.uint8):
        return entry.ndim
    return 1


def parse(tensor: Tensor, index: Any) -> ParsedIndex:
    """Take the index of ``tensor[index]`` apart.

    Raises:
        IndexError: a position that does not exist, too many entries, or a mask of another shape.
        TypeError: text, or a slice with bounds that are no integers.
    """
    plain = _plain_index(tensor, index)
    if plain is not None:
        return plain
    spec = tensor.spec
    try:
        entries = entries_of(index)
        if not spec.ndim and any(_consumed_dims(entry) for entry in entries):
            raise IndexError(NO_DIMENSIONS)
        return _Parser(spec.shape, spec.device, entries).parsed_index()
    except SliceError as error:
        raise TypeError(str(error)) from None
    except TypeError as error:
        kind = TypeError if isinstance(index, str) else IndexError
        raise kind(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {index!r}): {error}"
        ) from None


def _plain_index(tensor: Tensor, index: Any) -> ParsedIndex | None:
    """An index taken apart as others like it; None if it cannot be.

    It has numbers, slices, None, Ellipsis, and tensors of positions on the tensor's device.
    """
    spec = tensor._value.spec
    shape, device = spec.shape, spec.device
    if not shape:
        return None
    entries: list[Any] = []
    positions = []
    for entry in index if type(index) is tuple else (index,):
        if type(entry) is slice:
            entry = entry.start, entry.stop, entry.step
            if not _BOUNDS.issuperset(map(type, entry)):
                return None
        elif isinstance(entry, Tensor):
            spec = entry._value.spec
            if not spec.shape or spec.dtype not in _INDEX_DTYPES or spec.device is not device:
                return None
            positions.append(entry)
            entry = _POSITIONS
        elif type(entry) is not int and entry is not None and entry is not Ellipsis:
            return None
        entries.append(entry)
    pattern = _known_index(shape, tuple(entries))
    if not positions:
        return pattern
    dims = [dim for dim, _ in pattern.indices]
    return ParsedIndex(pattern.view_calls, pattern.shape, list(zip(dims, positions, strict=True)))


@functools.lru_cache(maxsize=1 << 12)
def _known_index(shape: tuple[int, ...], entries: tuple) -> ParsedIndex:
    """An index of a tensor of this shape taken apart.

    Slices are given as tuples, and tensors of positions as `_POSITIONS`.
    """
    if view_call := select_leading(shape, entries):
        parsed_index = ParsedIndex(ViewChain((view_call,)), shape[len(view_call[1]) :])
    else:
        index = tuple([slice(*entry) if type(entry) is tuple else entry for entry in entries])
        parsed_index = _Parser(shape, None, index).parsed_index()
    parsed_index.view_calls.is_kept = True
    return parsed_index


def get_item(self: Tensor, key: Any) -> Tensor:
    """``x[key]`` with PyTorch's rules: a view for numbers, slices, None and Ellipsis; or a copy.

    Raises:
        IndexError: a position that does not exist (for index tensors at the next read of a value).

    Example:
        >>> import oneflow as flow
        >>> x = flow.arange(6).reshape(2, 3)
        >>> x[:, 1], x[flow.tensor([1]), 0]
        (tensor([1, 4], dtype=oneflow.int64), tensor([3], dtype=oneflow.int64))
    """
    shape = self._value.spec.shape
    if type(key) is int:
        view_call = select_first(shape, key)
    else:
        view_call = select_leading(shape, key) if type(key) is tuple else None
        if view_call is None:
            return _get_parts(self, key)
    if SAMPLES.is_active and (view := view_of_sample(self, view_call)) is not None:
        return view
    return (apply_view if len(shape) > len(view_call[1]) else element_view)(self, view_call)


def _get_parts(tensor: Tensor, key: Any) -> Tensor:
    """``tensor[key]`` of an index that has other entries than numbers."""
    parsed_index, result = parse(tensor, key), tensor
    for view_call in parsed_index.view_calls:
        view = view_of_sample(result, view_call) if SAMPLES.is_active else None
        result = apply_view(result, view_call) if view is None else view
    if not parsed_index.indices:
        return result
    dims, indices = _index_values(parsed_index.indices)
    common_shape(indices)
    on_host = gather_on_host(result, dims, indices, negative=True)
    return wrap(p.index(unwrap(result), *indices, dims=dims)) if on_host is None else on_host


def _index_values(indices: list[tuple[int, Tensor]]) -> tuple[tuple[int, ...], list[Value]]:
    """Dimensions and index values; masks are read (a sync point) and turned into positions."""
    dims: list[int] = []
    values: list[Value] = []
    for dim, value in indices:
        if value.dtype is not dt.bool_ and value.dtype is not dt.uint8:
            dims.append(dim)
            values.append(unwrap(value))
            continue
        for offset, positions in enumerate(positions_of_nonzero(value)):
            dims.append(dim + offset)
            values.append(unwrap(positions))
    return tuple(dims), values


def set_item(self: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``; gradients flow to `value` and to what was in `x` elsewhere.

    Raises:
        IndexError: a position that does not exist (for index tensors at the next read of a value).
        RuntimeError: `value` does not broadcast to the selected part.
    """
    if self._chain or not write_element(self, key, value):
        put_item(self, key, value)


def put_item(tensor: Tensor, index: Any, value: Any, accumulate: bool = False) -> None:
    """``tensor[index] = value``, or ``+=`` at every position, however often it is given."""
    parsed_index = parse(tensor, index)
    view_calls, indices = parsed_index.view_calls, parsed_index.indices
    if indices and is_overlapping(tensor, view_calls):
        _put_in_memory(tensor, view_calls, indices, value, accumulate)
        return
    old = unwrap(tensor)
    if indices or accumulate or (old.node is not None and MODE.enabled):
        new = _written(replay(old, view_calls), indices, value, accumulate)
    else:  # what is there is not even looked at
        new = _source(value, old.spec, exact=False)
        if new.spec.shape != parsed_index.shape:
            new = _broadcast_source(new, parsed_index.shape)
    write(tensor, new, view_calls)


def is_overlapping(tensor: Tensor, view_calls: ViewChain = NO_VIEWS) -> bool:
    """Return True if several elements of the view of `tensor` may be one in memory."""
    family = tensor._family
    before = () if family is None else family.root_views()
    return any(map(overlapping, (*before, *tensor._chain, *view_calls)))


def _put_in_memory(
    tensor: Tensor,
    view_calls: ViewChain,
    indices: list[tuple[int, Tensor]],
    value: Any,
    accumulate: bool,
) -> None:
    """Write to the memory of a view whose elements overlap.

    Writing to the view and then back would let elements that stayed as they were win over those
    written in another place.
    """
    memory, places = memory_of(tensor, view_calls)
    old = unwrap(memory)
    source = _source(value, old.spec, exact=True)
    if _is_choice(indices, source, accumulate):
        named = filled_value(False, old.spec.shape, dt.bool_, old.spec.device)
        mask = views.broadcast_to(_aligned_mask(indices, places.spec.ndim), shape=places.spec.shape)
        named = p.index_put(named, mask, places, dims=(0,), accumulate=True)
        write(memory, where(named, views.reshape(source, shape=()), old))
        return
    dims, positions = _index_values(indices)
    named = p.index(places, *positions, dims=dims)
    source = _broadcast_source(source, named.spec.shape)
    write(memory, p.index_put(old, source, named, dims=(0,), accumulate=accumulate))


def memory_of(
    tensor: Tensor, view_calls: ViewChain = NO_VIEWS, copies: bool = True
) -> tuple[Tensor, Value]:
    """The flat memory of a view of `tensor`, and the place there of each element of the view.

    Raises:
        RuntimeError: autograd does not allow to write to `tensor`; or a dimension shows one element
            several times and not `copies`.
    """
    check_writable(tensor, unwrap(tensor))
    family = share(tensor)
    spec = family.storage.value.spec
    chain = (*family.root_views(), *tensor._chain, *view_calls)
    if not copies:
        layout_without_copies(spec.shape, chain)
    places = positions_seen(spec, chain, tensor.dtype)
    return join_storage(tensor, (views.reshape, (), {"shape": (spec.numel,)})), places


def index_put_value(tensor: Tensor, index: Any, value: Any, accumulate: bool = False) -> Value:
    """The value of `tensor` after ``tensor[index] = value``, or after adding there."""
    parsed_index = parse(tensor, index)
    view = replay(unwrap(tensor), parsed_index.view_calls)
    new = _written(view, parsed_index.indices, value, accumulate)
    return scatter_back(unwrap(tensor), parsed_index.view_calls, new)


def _written(view: Value, indices: list[tuple[int, Tensor]], value: Any, accumulate: bool) -> Value:
    """The value of the view that the basic part of the index selects, after the assignment."""
    spec = view.spec
    source = _source(value, spec, exact=bool(indices))
    if not indices:
        expanded = _broadcast_source(source, spec.shape)
        return add(view, expanded) if accumulate else keep_history(view, expanded)
    if _is_choice(indices, source, accumulate):
        return where(_aligned_mask(indices, spec.ndim), views.reshape(source, shape=()), view)
    dims, positions = _index_values(indices)
    shape = _indexed_shape(spec.shape, dims, positions)
    return p.index_put(
        view, _broadcast_source(source, shape), *positions, dims=dims, accumulate=accumulate
    )


def _is_choice(indices: list[tuple[int, Tensor]], source: Value, accumulate: bool) -> bool:
    """Return True if one value is assigned by one mask, which then need not be read."""
    is_mask = len(indices) == 1 and indices[0][1].dtype is dt.bool_
    return is_mask and source.spec.numel == 1 and not accumulate


def _aligned_mask(indices: list[tuple[int, Tensor]], ndim: int) -> Value:
    """The only index, a mask, with dimensions behind its own so that it broadcasts."""
    dim, mask = indices[0]
    trailing = ndim - dim - mask.ndim
    return views.reshape(unwrap(mask), shape=(*mask.shape, *(1,) * trailing))


def _source(value: Any, spec: TensorSpec, exact: bool) -> Value:
    """The assigned value on the device and with the dtype of the target, which has `spec`."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in (bool, int, float, complex):
        return filled_value(value, (), spec.dtype, spec.device)
    if not isinstance(value, Tensor):
        source = unwrap(import_array(value, None, spec.device))
        return source if source.spec.dtype is spec.dtype else cast(source, dtype=spec.dtype)
    value = on_device(value, spec.device)
    if exact and value.ndim and value.dtype is not spec.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{spec.dtype.name} for the destination and {value.dtype.name} for the source."
        )
    if exact:
        return element_value(value, spec.dtype)
    source = unwrap(value)
    return source if source.spec.dtype is spec.dtype else cast(source, dtype=spec.dtype)


def _broadcast_source(source: Value, shape: tuple[int, ...]) -> Value:
    """`source` broadcast to `shape`; extra leading dimensions of size 1 fall away."""
    have = source.spec.shape
    if have == shape:
        return source
    extra = len(have) - len(shape)
    if extra > 0 and all(size == 1 for size in have[:extra]):
        source = views.reshape(source, shape=have[extra:])
    try:
        is_broadcastable = broadcast_shapes(source.spec.shape, shape) == shape
    except RuntimeError:
        is_broadcastable = False
    if not is_broadcastable:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing "
            f"result of shape {list(shape)}"
        )
    return views.broadcast_to(source, shape=shape)


def _indexed_shape(
    shape: tuple[int, ...], dims: tuple[int, ...], positions: list[Value]
) -> tuple[int, ...]:
    """The shape that reading at `positions` would have."""
    common = common_shape(positions)
    kept_before, kept_after = shape[: dims[0]], shape[dims[-1] + 1 :]
    if dims == tuple(range(dims[0], dims[-1] + 1)):
        return (*kept_before, *common, *kept_after)
    return (*common, *(size for dim, size in enumerate(shape) if dim not in dims))
