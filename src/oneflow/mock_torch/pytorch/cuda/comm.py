"""``torch.cuda.comm``: tensors copied to several devices of one process, and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.cuda.devices import gpu


def broadcast(
    tensor: Tensor, devices: Sequence[Any] | None = None, *, out: Any = None
) -> tuple[Tensor, ...]:
    """Return a copy on each device, or written to the tensors of `out`."""
    if out is not None:
        return tuple(target.copy_(tensor) for target in out)
    return tuple(tensor.to(gpu(name)) for name in devices or ())


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Sequence[Any], buffer_size: int = 0
) -> list[tuple[Tensor, ...]]:
    """Return copies of several tensors, in a tuple for each device."""
    return [tuple(tensor.to(gpu(target)) for tensor in tensors) for target in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """Return the sum of tensors of several devices, on one of these devices."""
    device = inputs[0].device if destination is None else gpu(destination)
    total = inputs[0].to(device)
    for tensor in inputs[1:]:
        total = total + tensor.to(device)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 0
) -> tuple[Tensor, ...]:
    """Return the sums of several tensors, each over the devices."""
    return tuple(reduce_add(tensors, destination) for tensors in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> tuple[Tensor, ...]:
    """Return a part on each device, or written to the tensors of `out`."""
    if out is not None:
        parts = tensor.split([target.shape[dim] for target in out], dim)
        return tuple(target.copy_(part) for target, part in zip(out, parts, strict=True))
    places = [gpu(name) for name in devices or ()]
    parts = tensor.split(list(chunk_sizes), dim) if chunk_sizes else tensor.chunk(len(places), dim)
    return tuple(part.to(place) for part, place in zip(parts, places, strict=False))


def gather(
    tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Return the parts of several devices as one tensor of one device, or write it to `out`."""
    device = gpu(destination) if out is None else out.device
    joined = flow.cat([tensor.to(device) for tensor in tensors], dim)
    return joined if out is None else out.copy_(joined)


__all__ = [
    "broadcast",
    "broadcast_coalesced",
    "gather",
    "reduce_add",
    "reduce_add_coalesced",
    "scatter",
]
