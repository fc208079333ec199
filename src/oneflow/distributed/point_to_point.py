"""Tensors from one process to another, without the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType, dtype_named
from oneflow.distributed.collectives import check_local
from oneflow.distributed.exchange import everyone, exchange, group_of, transfer, value_of
from oneflow.runtime.eager import read_array
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor

# What is told of a tensor before it is sent: its dtype's name, its number of dimensions, its sizes.
_NAME = 16
_MAX_DIMENSIONS = 16


def send(input: Tensor, dst: int, send_meta: bool = True) -> None:
    """Send a tensor to process `dst`, which calls `recv`.

    Args:
        input: what is sent.
        dst: who gets it.
        send_meta: tell shape and dtype first; without it, `recv` must be given both.

    Raises:
        ValueError: `dst` is this process, or none.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.comm.send(flow.ones(2), 1)
        ...     elif flow.env.get_rank() == 1:
        ...         x = flow.comm.recv(0)
    """
    check_local(input)
    _check_other("dst", dst)
    if send_meta:
        meta = _describe(input)
        _transfer(meta, cluster.rank(), dst, "cpu")
    _transfer(read_array(input.value), cluster.rank(), dst, input.device.type)


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
        src: who sends it.
        shape: its shape, if the sender does not tell (`send_meta=False`).
        dtype: its dtype, likewise.
        device: where to put it, default the CPU.
        out: a tensor to write it into.

    Returns:
        The tensor, or `out`.

    Raises:
        ValueError: `src` is this process, or none; only one of `shape` and `dtype` is given.
    """
    _check_other("src", src)
    if (shape is None) != (dtype is None):
        raise ValueError("`shape` and `dtype` must be given together, or neither")
    device = Device(device) if device is not None else CPU if out is None else out.device
    if shape is None or dtype is None:
        shape, dtype = _understand(_transfer(_nothing_told(), src, cluster.rank(), "cpu"))
    holder = np.zeros(tuple(shape), dtype.numpy)
    value = value_of(_transfer(holder, src, cluster.rank(), device.type), device)
    if out is None:
        return wrap(value)
    return out.assign(value)


def _transfer(array: Any, source: int, destination: int, type: str) -> Any:
    """The array that comes out of the transfer here; of use only at its destination."""
    everyone(type)  # refuses processes that are no ranks
    ranks = (min(source, destination), max(source, destination))
    places = {"source": ranks.index(source), "destination": ranks.index(destination)}
    return exchange(transfer, group_of(ranks, type), [array], **places)[0]


def _check_other(name: str, rank: int) -> None:
    size = cluster.world_size()
    if not 0 <= rank < size or rank == cluster.rank():
        raise ValueError(
            f"`{name}`={rank} must be another process: this is {cluster.rank()} of {size}"
        )


def _nothing_told() -> np.ndarray:
    return np.zeros(_NAME + 1 + _MAX_DIMENSIONS, np.int64)


def _describe(tensor: Tensor) -> np.ndarray:
    told = _nothing_told()
    name = tensor.dtype.name.encode()
    shape = tuple(tensor.shape)
    if len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"a tensor of {len(shape)} dimensions cannot be sent")
    told[: len(name)] = list(name)
    told[_NAME] = len(shape)
    told[_NAME + 1 : _NAME + 1 + len(shape)] = shape
    return told


def _understand(told: Any) -> tuple[tuple[int, ...], DType]:
    numbers = np.asarray(told)
    name = bytes(int(each) for each in numbers[:_NAME] if each).decode()
    count = int(numbers[_NAME])
    shape = tuple(int(each) for each in numbers[_NAME + 1 : _NAME + 1 + count])
    return shape, dtype_named(name)
