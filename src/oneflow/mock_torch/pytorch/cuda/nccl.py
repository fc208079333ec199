"""``torch.cuda.nccl``: collectives on tensors of several devices of one process."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from functools import reduce as fold
from typing import Any

import oneflow as flow
from oneflow import Tensor

#: Operations by the numbers that NCCL gives them.
_OPERATIONS = (flow.add, flow.mul, flow.maximum, flow.minimum)
_PACKAGES = ("nvidia-nccl-cu13", "nvidia-nccl-cu12")


def is_available(tensors: Sequence[Tensor]) -> bool:
    """Return whether tensors are dense, contiguous, and each on a GPU of its own."""
    devices = [tensor.device for tensor in tensors]
    if len(set(devices)) != len(devices):
        return False
    return all(
        tensor.is_cuda and not tensor.is_sparse and tensor.is_contiguous() for tensor in tensors
    )


def version() -> tuple[int, ...]:
    """Return the version of NCCL that XLA calls.

    Raises:
        RuntimeError: NCCL is not installed.
    """
    for package in _PACKAGES:
        try:
            return tuple(map(int, importlib.metadata.version(package).split(".")[:3]))
        except importlib.metadata.PackageNotFoundError:
            continue
    raise RuntimeError("NCCL is not installed: JAX brings it with `pip install jax[cuda12]`")


def _combine(inputs: Sequence[Tensor], op: int, device: Any) -> Tensor:
    return fold(_OPERATIONS[op], [tensor.to(device) for tensor in inputs])


def all_reduce(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor] | None = None,
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Write the combination of all inputs to each output.

    Args:
        inputs: one tensor of each device, of one shape.
        outputs: where the results go; by default to the inputs.
        op: NCCL's number of the operation: 0 a sum, 1 a product, 2 the largest, 3 the smallest.
        streams: accepted for PyTorch's sake.
        comms: accepted for PyTorch's sake.
    """
    targets = inputs if outputs is None else outputs
    results = [_combine(inputs, op, target.device) for target in targets]
    for target, result in zip(targets, results, strict=True):
        target.copy_(result)


def reduce(
    inputs: Sequence[Tensor],
    output: Tensor | Sequence[Tensor] | None = None,
    root: int = 0,
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
    *,
    outputs: Sequence[Tensor] | None = None,
) -> None:
    """Write the combination of all inputs to one tensor.

    Args:
        inputs: one tensor of each device, of one shape.
        output: where the result goes; by default to the input of the root.
        root: the position of the device that gets the result.
        op: the operation, as for `all_reduce`.
        streams: accepted for PyTorch's sake.
        comms: accepted for PyTorch's sake.
        outputs: the former form of `output`: a tensor of each device.
    """
    places = inputs if outputs is None else outputs
    target = output if isinstance(output, Tensor) else (output or places)[root]
    target.copy_(_combine(inputs, op, target.device))


def broadcast(
    inputs: Sequence[Tensor], root: int = 0, streams: Any = None, comms: Any = None
) -> None:
    """Write the root's tensor to all others.

    Args:
        inputs: one tensor of each device, of one shape.
        root: the position of the device that is read.
        streams: accepted for PyTorch's sake.
        comms: accepted for PyTorch's sake.
    """
    for position, tensor in enumerate(inputs):
        if position != root:
            tensor.copy_(inputs[root])


def all_gather(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], streams: Any = None, comms: Any = None
) -> None:
    """Write the elements of all inputs, one after the other, to each output.

    Args:
        inputs: one tensor of each device, of one shape.
        outputs: one tensor of each device with as many elements as all inputs.
        streams: accepted for PyTorch's sake.
        comms: accepted for PyTorch's sake.
    """
    for target in outputs:
        parts = [tensor.to(target.device).reshape(-1) for tensor in inputs]
        target.copy_(flow.cat(parts).reshape(target.shape))


def reduce_scatter(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    op: int = 0,
    streams: Any = None,
    comms: Any = None,
) -> None:
    """Write a part of the combination of all inputs to each output.

    Args:
        inputs: one tensor of each device with as many elements as all outputs.
        outputs: one tensor of each device, of one shape.
        op: the operation, as for `all_reduce`.
        streams: accepted for PyTorch's sake.
        comms: accepted for PyTorch's sake.
    """
    whole = _combine(inputs, op, inputs[0].device).reshape(-1)
    for target, part in zip(outputs, whole.chunk(len(outputs)), strict=True):
        target.copy_(part.reshape(target.shape).to(target.device))


__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]
