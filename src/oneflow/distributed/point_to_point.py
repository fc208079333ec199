"""Point-to-point communication: tensors from one process to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType, dtype_named
from oneflow.distributed.collective_functions import transfer
from oneflow.distributed.collectives import check_tensor
from oneflow.distributed.device_group import (
    device_group,
    group_of_ranks,
    run_collective,
    value_of,
)
from oneflow.runtime.eager import read_array
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write

# A tensor's metadata, sent before it: the name of its dtype, its number of dimensions, its sizes.
_NAME_LENGTH = 16
_MAX_DIMENSIONS = 16


def send(input: Tensor, dst: int, send_meta: bool = True) -> None:
    """Send a tensor to process `dst`, which calls `recv`.

    Args:
        input: the tensor to send.
        dst: the rank that receives it.
        send_meta: send shape and dtype first; if False, `recv` must be given both.

    Raises:
        ValueError: `dst` is this process, or not a rank.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.comm.send(flow.ones(2), 1)
        ...     elif flow.env.get_rank() == 1:
        ...         x = flow.comm.recv(0)
    """
    check_tensor(input)
    _check_other("dst", dst)
    if send_meta:
        meta = _encode_meta(input)
        _transfer(meta, cluster.rank(), dst, "cpu")
    _transfer(read_array(unwrap(input)), cluster.rank(), dst, input.device.type)


def recv(
    src: int,
    shape: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Receive a tensor from process `src`, which calls `send`.

    Args:
        src: the rank that sends it.
        shape: its shape, if the sender does not send it (`send_meta=False`).
        dtype: its dtype, likewise.
        device: the device of the result, default the CPU.
        out: a tensor to write it into.

    Returns:
        The tensor, or `out`.

    Raises:
        ValueError: `src` is this process, or not a rank; only one of `shape` and `dtype` is given.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.comm.send(flow.ones(2), 1)
        ...     elif flow.env.get_rank() == 1:
        ...         x = flow.comm.recv(0)
    """
    _check_other("src", src)
    if (shape is None) != (dtype is None):
        raise ValueError("`shape` and `dtype` must be given together, or neither")
    device = Device(device) if device is not None else CPU if out is None else out.device
    if shape is None or dtype is None:
        shape, dtype = _decode_meta(_transfer(_empty_meta(), src, cluster.rank(), "cpu"))
    placeholder = np.zeros(tuple(shape), dtype.numpy)
    value = value_of(_transfer(placeholder, src, cluster.rank(), device.type), device)
    if out is None:
        return wrap(value)
    return write(out, value)


def _transfer(array: Any, source: int, destination: int, type: str) -> Any:
    """Return the array that the transfer delivers; meaningful at its destination only."""
    group_of_ranks(type)  # raises in processes that are not ranks
    ranks = (min(source, destination), max(source, destination))
    group, indices = device_group(ranks, type), (ranks.index(source), ranks.index(destination))
    results = run_collective(transfer, group, [array], source=indices[0], destination=indices[1])
    return results[0]


def _check_other(name: str, rank: int) -> None:
    size = cluster.world_size()
    if not 0 <= rank < size or rank == cluster.rank():
        raise ValueError(
            f"`{name}`={rank} must be another rank: this is rank {cluster.rank()} of {size}"
        )


def _empty_meta() -> np.ndarray:
    return np.zeros(_NAME_LENGTH + 1 + _MAX_DIMENSIONS, np.int64)


def _encode_meta(tensor: Tensor) -> np.ndarray:
    meta = _empty_meta()
    name = tensor.dtype.name.encode()
    shape = tuple(tensor.shape)
    if len(shape) > _MAX_DIMENSIONS:
        raise ValueError(
            f"`input` has {len(shape)} dimensions; tensors of at most {_MAX_DIMENSIONS} can be sent"
        )
    meta[: len(name)] = list(name)
    meta[_NAME_LENGTH] = len(shape)
    meta[_NAME_LENGTH + 1 : _NAME_LENGTH + 1 + len(shape)] = shape
    return meta


def _decode_meta(meta: Any) -> tuple[tuple[int, ...], DType]:
    numbers = np.asarray(meta)
    name = bytes(int(number) for number in numbers[:_NAME_LENGTH] if number).decode()
    count = int(numbers[_NAME_LENGTH])
    shape = tuple(int(number) for number in numbers[_NAME_LENGTH + 1 : _NAME_LENGTH + 1 + count])
    return shape, dtype_named(name)
