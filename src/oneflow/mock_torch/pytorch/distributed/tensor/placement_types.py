"""``torch.distributed.tensor.placement_types``: what a tensor is along a dimension of a mesh.

Libraries hold these values in tables. Tensors are placed by `oneflow.sbp`, whose values they name.
"""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """The placement of a tensor along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Return whether it is split, along `dim` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Return whether every device has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Return whether the devices have summands of the tensor."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Shard(Placement):
    """A split along a dimension of the tensor: `oneflow.sbp.split`."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """One of two splits along a dimension."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """A copy on each device: `oneflow.sbp.broadcast`."""


@dataclass(frozen=True)
class Partial(Placement):
    """A summand on each device: `oneflow.sbp.partial_sum`."""

    reduce_op: str = "sum"


__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]
