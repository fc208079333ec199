"""``torch.distributed.tensor.DTensor``: PyTorch's name and methods of global tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, Sbp, Split, split
from oneflow.distributed.collectives import broadcast
from oneflow.distributed.groups import ProcessGroup, get_world_size
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.distributed.device_mesh import (
    DeviceMesh,
    entered_mesh,
    init_device_mesh,
)
from oneflow.mock_torch.pytorch.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _StridedShard,
)
from oneflow.tensor.tensor import Tensor


class _GlobalTensors(type):
    """A class whose instances are the global tensors."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.is_global


class DTensor(metaclass=_GlobalTensors):
    """A tensor over the ranks of a mesh: a global tensor, whatever made it.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.tensor import DTensor, Shard, distribute_tensor
        >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
        >>> x = distribute_tensor(torch.ones(2), mesh, [Shard(0)])
        >>> isinstance(x, DTensor), isinstance(torch.ones(2), DTensor), x.placements
        (True, False, (Shard(dim=0),))
    """

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> Tensor:
        """Return a tensor from the part of each rank; `shape` and `stride` follow from the parts.

        Args:
            local_tensor: the part of this rank.
            device_mesh: the ranks, by default all.
            placements: one per dimension of the mesh, by default `Replicate`.
            run_check: accepted.
            shape: accepted.
            stride: accepted.
        """
        mesh = _mesh(device_mesh, local_tensor)
        return local_tensor.to_global(mesh.placement, signatures(placements, mesh))


class _OfGlobalTensors:
    """A method or property of global tensors only: local ones have no such attribute."""

    def __init__(self, function: Callable[..., Any], is_property: bool) -> None:
        self._function, self._is_property = function, is_property
        self.__doc__ = function.__doc__

    def __get__(self, instance: Tensor | None, owner: type | None = None) -> Any:
        if instance is None:
            return self
        name = self._function.__name__
        if not instance.is_global:
            raise AttributeError(f"local tensors have no `{name}`", name=name, obj=instance)
        if self._is_property:
            return self._function(instance)
        return self._function.__get__(instance, owner)


def _mesh(device_mesh: DeviceMesh | None, tensor: Tensor) -> DeviceMesh:
    if device_mesh is not None:
        return device_mesh
    return entered_mesh() or init_device_mesh(tensor.device.type, (get_world_size(),))


def signatures(placements: Sequence[Placement] | None, mesh: DeviceMesh) -> list[Sbp]:
    """Return the SBP that PyTorch's placements name.

    Raises:
        NotImplementedError: a reduction other than the sum, or a strided split.
    """
    mesh_placements = [Replicate()] * mesh.ndim if placements is None else list(placements)
    return [_signature(placement) for placement in mesh_placements]


def _signature(placement: Placement) -> Sbp:
    if isinstance(placement, Replicate):
        return BROADCAST
    if isinstance(placement, Shard) and not isinstance(placement, _StridedShard):
        return split(placement.dim)
    if placement != Partial():
        raise_missing(repr(placement), "`oneflow.sbp` has splits, copies and summands")
    return PARTIAL_SUM


def _placement(signature: Sbp) -> Placement:
    if isinstance(signature, Split):
        return Shard(signature.dim)
    return Replicate() if signature is BROADCAST else Partial()


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Return the global tensor with the values that one rank of the mesh has, as a leaf.

    Args:
        tensor: the values.
        device_mesh: the ranks, by default all.
        placements: one per dimension of the mesh, by default `Replicate`.
        src_data_rank: the position along each dimension of the mesh of the rank whose values are
            taken; None takes each part from its rank's own values, without communication.

    Raises:
        RuntimeError: `tensor` was computed from what requires gradients, and would get none.
    """
    if not tensor.is_leaf:
        raise RuntimeError(
            "`tensor` must be a leaf, got one that was computed; `DTensor.from_local` passes "
            "gradients on"
        )
    mesh = _mesh(device_mesh, tensor)
    values = tensor.detach()
    if src_data_rank:
        values = values.clone()
        grid = mesh.mesh
        group = ProcessGroup(tuple(sorted(grid.flatten().tolist())))
        broadcast(values, int(grid[(src_data_rank,) * mesh.ndim]), group)
    full = values.to_global(
        mesh.placement, [BROADCAST] * mesh.ndim, check_meta=src_data_rank is not None
    )
    result = full.to_global(sbp=signatures(placements, mesh))
    return result.detach().requires_grad_(tensor.requires_grad)


def full_tensor(input: Tensor, *, grad_placements: Any = None) -> Tensor:
    """Return the whole as a local tensor, on each rank."""
    if grad_placements is not None:
        raise_missing("grad_placements", "`to_global(sbp=.., grad_sbp=..)` takes that of gradients")
    return input.to_global(sbp=[BROADCAST] * input.placement.ndim).to_local()


def redistribute(
    input: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    async_op: bool = False,
    forward_dtype: Any = None,
    backward_dtype: Any = None,
) -> Tensor:
    """Return the tensor with other placements, `Replicate` if none are given."""
    mesh = device_mesh or DeviceMesh.of_placement(input.placement)
    moved = input if forward_dtype is None else input.to(forward_dtype)
    return moved.to_global(mesh.placement, signatures(placements, mesh))


def device_mesh(input: Tensor) -> DeviceMesh:
    """The ranks."""
    return DeviceMesh.of_placement(input.placement)


def placements(input: Tensor) -> tuple[Placement, ...]:
    """The placements of the tensor along the dimensions of the mesh."""
    return tuple([_placement(signature) for signature in input.sbp])


for _function, _is_property in (
    (full_tensor, False),
    (redistribute, False),
    (device_mesh, True),
    (placements, True),
):
    setattr(Tensor, _function.__name__, _OfGlobalTensors(_function, _is_property))


__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_tensor",
    "init_device_mesh",
]
