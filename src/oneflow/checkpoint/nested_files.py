"""Nested tensors in PyTorch's files: a buffer with sizes, strides and offsets of each component."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from oneflow.base.layout import Layout
from oneflow.checkpoint.pickle_reader import BuildTarget
from oneflow.checkpoint.torch_names import TorchName
from oneflow.functional.shape.concat import cat
from oneflow.nested.tensor import NestedTensor, rebuild
from oneflow.tensor.tensor import Tensor

_JAGGED = "torch.nested._internal.nested_tensor"
#: The functions of PyTorch that make nested tensors of layout `strided` and `jagged`, and a class.
STRIDED = TorchName("torch._utils", "_rebuild_nested_tensor")
JAGGED = TorchName(_JAGGED, "_rebuild_njt")
JAGGED_CLASS = TorchName(_JAGGED, "NestedTensor")
RANGE = TorchName("torch._dynamo.decorators", "_DimRange")
_OF_CLASS = TorchName("torch._tensor", "_rebuild_from_type_v2")


class DimensionRange(BuildTarget):
    """The sizes that PyTorch's compiler expects in a dimension: its files of jagged tensors say."""

    def build(self, state: Any) -> None:
        """Take the number of the dimension, and its bounds, as pickles without trust give them."""
        self.dim, self.min, self.max = state

    __setstate__ = build


def reduced(tensor: NestedTensor) -> tuple[Any, ...]:
    """Return the function of PyTorch that makes a nested tensor, and its arguments."""
    if tensor.layout is not Layout.jagged:
        sizes, strides = tensor._nested_tensor_size(), tensor._nested_tensor_strides()
        places = sizes, strides, tensor._nested_tensor_storage_offsets()
        values = tensor._parts.values.detach().requires_grad_(tensor.requires_grad)
        return STRIDED, (values, *places)
    arguments = {
        "values": tensor.values().detach(),
        "offsets": tensor.offsets(),
        "lengths": None,
        "_ragged_idx": tensor._parts.ragged_dim,
        "_metadata_cache": {},
        "requires_grad": tensor.requires_grad,
    }
    return _OF_CLASS, (JAGGED, JAGGED_CLASS, (arguments,), {})


def nested_of_buffer(
    buffer: Tensor, sizes: Tensor, strides: Tensor, offsets: Tensor
) -> NestedTensor:
    """Return a nested tensor of layout `strided`, with its elements one after another.

    Raises:
        ValueError: a component reaches beyond the buffer.
    """
    places = zip(sizes.tolist(), strides.tolist(), offsets.tolist(), strict=True)
    parts = [_component(buffer, *place) for place in places]
    return _joined(buffer, parts, "strided", 1, buffer.requires_grad)


def nested_of_jagged(arguments: Mapping[str, Any]) -> NestedTensor:
    """Return a nested tensor of layout `jagged`.

    Raises:
        ValueError: the offsets do not fit the values.
    """
    values, dim = arguments["values"], arguments["_ragged_idx"]
    offsets, lengths = arguments["offsets"].tolist(), arguments.get("lengths")
    counts = [end - start for start, end in itertools.pairwise(offsets)]
    counts = counts if lengths is None else lengths.tolist()
    ends = [start + count for start, count in zip(offsets, counts, strict=False)]
    if min(offsets, default=0) < 0 or max(ends, default=0) > values.shape[dim - 1]:
        raise ValueError("components of a nested tensor reach beyond its values")
    parts = [
        values.narrow(dim - 1, start, count) for start, count in zip(offsets, counts, strict=False)
    ]
    return _joined(values, parts, "jagged", dim, bool(arguments.get("requires_grad")))


def _component(buffer: Tensor, size: list[int], stride: list[int], offset: int) -> Tensor:
    last = offset + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    if min([offset, *size, *stride]) < 0 or (math.prod(size) and last >= buffer.numel()):
        raise ValueError("a component of a nested tensor reaches beyond its buffer")
    return buffer.as_strided(size, stride, offset)


def _joined(
    like: Tensor, parts: Sequence[Tensor], layout: str, dim: int, requires_grad: bool
) -> NestedTensor:
    flat = [part.reshape(-1) for part in parts]
    values = (cat(flat) if flat else like.reshape(-1)[:0]).detach().requires_grad_(requires_grad)
    return rebuild(values, [tuple(part.shape) for part in parts], layout, dim)
