"""Constructors of global tensors by PyTorch's arguments, and modules with global parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.distributed.groups import get_world_size
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.distributed.device_mesh import (
    DeviceMesh,
    entered_mesh,
    init_device_mesh,
)
from oneflow.mock_torch.pytorch.distributed.tensor.placement_types import Placement
from oneflow.mock_torch.pytorch.distributed.tensor.sharded_tensor import (
    distribute_tensor,
    signatures,
)
from oneflow.module.module import Module
from oneflow.nn import Parameter


def _constructor(name: str, text: str) -> Callable[..., Tensor]:
    make = getattr(flow, name)

    def construct(
        *size: Any,
        dtype: Any = None,
        layout: Any = None,
        requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        if layout not in (None, flow.strided):
            raise_missing(f"torch.distributed.tensor.{name}", "global tensors are not sparse")
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        mesh = device_mesh or entered_mesh() or init_device_mesh("cpu", (get_world_size(),))
        options = {"placement": mesh.placement, "sbp": signatures(placements, mesh)}
        return make(tuple(shape), dtype=dtype, requires_grad=requires_grad, **options)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = f"""Return a global tensor of {text}.

    Args:
        size: its sizes, one by one or as a sequence.
        dtype: its dtype.
        layout: must be strided.
        requires_grad: whether it gets gradients.
        device_mesh: the ranks, by default all.
        placements: one per dimension of the mesh, by default `Replicate`.
    """
    return construct


zeros = _constructor("zeros", "zeros")
ones = _constructor("ones", "ones")
empty = _constructor("empty", "any values")
rand = _constructor("rand", "uniform random numbers from 0 to 1")
randn = _constructor("randn", "normal random numbers")


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """Return a global tensor of one number, with the arguments of `zeros` besides.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.tensor import Shard, full
        >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
        >>> full((2,), 3.0, device_mesh=mesh, placements=[Shard(0)]).to_local().tolist()
        [3.0, 3.0]
    """
    if dtype is None:
        dtype = flow.tensor(fill_value).dtype
    result = zeros(size, dtype=dtype, layout=layout, device_mesh=device_mesh, placements=placements)
    return result.fill_(fill_value).requires_grad_(requires_grad)


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Module:
    """Make the parameters and buffers of a module global tensors, and return the module.

    Args:
        module: it is changed.
        device_mesh: the ranks, by default all.
        partition_fn: splits what is split, called with each module's name, the module and the
            mesh; what is local behind it is copied to each rank.
        input_fn: gets the module, its arguments and the mesh before each call, and may replace the
            arguments.
        output_fn: gets the module, its result and the mesh, and may replace the result.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.tensor import DTensor, distribute_module
        >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
        >>> isinstance(distribute_module(torch.nn.Linear(2, 2), mesh).weight, DTensor)
        True
    """
    mesh = device_mesh or entered_mesh() or init_device_mesh("cpu", (get_world_size(),))
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        _replicate(part, mesh)
    if input_fn is not None:
        takes_module = len(inspect.signature(input_fn).parameters) > 2
        module.register_forward_pre_hook(
            lambda part, args: input_fn(part, args, mesh) if takes_module else input_fn(args, mesh)
        )
    if output_fn is not None:
        takes_module_too = len(inspect.signature(output_fn).parameters) > 2
        module.register_forward_hook(
            lambda part, args, result: (
                output_fn(part, result, mesh) if takes_module_too else output_fn(result, mesh)
            )
        )
    return module


def _replicate(module: Module, mesh: DeviceMesh) -> None:
    """Make the local parameters and buffers of one module global tensors with copies everywhere."""
    for name, parameter in list(module._parameters.items()):
        if parameter is not None and not parameter.is_global:
            whole = distribute_tensor(parameter.detach(), mesh)
            module.register_parameter(name, Parameter(whole, parameter.requires_grad))
    for name, buffer in list(module._buffers.items()):
        if buffer is not None and not buffer.is_global:
            module._buffers[name] = distribute_tensor(buffer.detach(), mesh)
