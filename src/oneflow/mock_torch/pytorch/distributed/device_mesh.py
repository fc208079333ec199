"""``torch.distributed.device_mesh``: grids of ranks, which a `oneflow.placement` is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

import oneflow as flow
from oneflow.base.placement import Placement as Ranks
from oneflow.distributed.groups import ProcessGroup, get_rank, get_world_size, new_group
from oneflow.tensor.tensor import Tensor

# The names that the dimensions of meshes were given last, for the meshes of tensors: a tensor
# knows its ranks only.
_names: dict[tuple[str, tuple[int, ...], bytes], tuple[str, ...]] = {}
# The meshes whose ``with`` blocks are open, the innermost last.
_entered: list[DeviceMesh] = []


class DeviceMesh:
    """A grid of ranks.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.
        mesh: the ranks, nested as the grid is.
        mesh_dim_names: one name per dimension.

    Attributes:
        device_type: the argument.
        mesh_dim_names: the argument as a tuple.

    Raises:
        ValueError: the number of names is not that of the dimensions.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
    ) -> None:
        self.device_type = device_type
        self._grid = np.asarray(mesh.numpy() if isinstance(mesh, Tensor) else mesh, np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.ndim:
            raise ValueError(
                f"`mesh_dim_names` must have one name for each of the {self.ndim} dimensions of "
                f"`mesh`, got {self.mesh_dim_names}"
            )
        if self.mesh_dim_names is not None:
            _names[self._key()] = self.mesh_dim_names

    def _key(self) -> tuple[str, tuple[int, ...], bytes]:
        return self.device_type, self.shape, self._grid.tobytes()

    @classmethod
    def of_placement(cls, placement: Ranks) -> DeviceMesh:
        """Return the mesh with the ranks of a placement."""
        mesh = cls(placement.type, placement.ranks)
        mesh.mesh_dim_names = _names.get(mesh._key())
        return mesh

    @classmethod
    def from_group(
        cls,
        group: ProcessGroup,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """Return the mesh of the ranks of a group."""
        ranks = list(group.ranks) if mesh is None else mesh
        return cls(device_type, ranks, mesh_dim_names=mesh_dim_names)

    @property
    def placement(self) -> Ranks:
        """The mesh's ranks as `oneflow.placement`."""
        return Ranks(self.device_type, self._grid.tolist())

    @property
    def mesh(self) -> Tensor:
        """The ranks as a tensor."""
        return flow.tensor(self._grid.astype(np.int32))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._grid.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self._grid.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of ranks, or that along a dimension."""
        return self._grid.size if mesh_dim is None else self.shape[mesh_dim]

    def _dimension(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim != 1:
                raise RuntimeError(f"`mesh_dim` must be given for a mesh of {self.ndim} dimensions")
            return 0
        if isinstance(mesh_dim, int):
            if not -self.ndim <= mesh_dim < self.ndim:
                raise IndexError(
                    f"`mesh_dim` must be in [{-self.ndim}, {self.ndim}), got {mesh_dim}"
                )
            return mesh_dim % self.ndim
        names = self.mesh_dim_names or ()
        if mesh_dim not in names:
            raise KeyError(f"`mesh_dim` must be one of {list(names)}, got {mesh_dim!r}")
        return names.index(mesh_dim)

    def get_coordinate(self) -> list[int] | None:
        """Return where this rank is in the grid; None if it is not in it."""
        coordinates = np.argwhere(self._grid == get_rank())
        return coordinates[0].tolist() if len(coordinates) else None

    def get_rank(self) -> int:
        """Return the rank of this process in the job."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return the position of this rank along a dimension."""
        coordinate = self.get_coordinate()
        if coordinate is None:
            raise RuntimeError(f"rank {get_rank()} is not in {self}")
        return coordinate[self._dimension(mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the group of the ranks that differ from this one along one dimension only."""
        lines = np.moveaxis(self._grid, self._dimension(mesh_dim), -1)
        lines = lines.reshape(-1, lines.shape[-1])
        groups = [new_group(line.tolist()) for line in lines]
        own = [group for group in groups if group.ranks]
        return own[0] if own else ProcessGroup(())

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the group of this rank along each dimension."""
        return [self.get_group(dimension) for dimension in range(self.ndim)]

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the part of the mesh along some dimensions in which this rank is."""
        dim_names = (names,) if isinstance(names, str) else tuple(names)
        dimensions = [self._dimension(name) for name in dim_names]
        coordinate = self.get_coordinate() or [0] * self.ndim
        entry = tuple(
            slice(None) if dimension in dimensions else coordinate[dimension]
            for dimension in range(self.ndim)
        )
        order = sorted(dimensions)
        part = np.transpose(self._grid[entry], [order.index(d) for d in dimensions])
        return DeviceMesh(self.device_type, part, mesh_dim_names=dim_names)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """Return the same ranks in one dimension."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("flat",))
        return DeviceMesh(self.device_type, self._grid.reshape(-1), mesh_dim_names=(name,))

    def __enter__(self) -> Self:
        """Make it the mesh of calls that name none."""
        _entered.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _entered.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (
            self.device_type == other.device_type and np.array_equal(self._grid, other._grid)
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        sizes = self.mesh_dim_names and dict(zip(self.mesh_dim_names, self.shape, strict=True))
        return f"DeviceMesh({sizes or self.shape}, {self.device_type!r})"


def entered_mesh() -> DeviceMesh | None:
    """Return the mesh whose ``with`` block is open, if there is one."""
    return _entered[-1] if _entered else None


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """Return a mesh of all ranks of the job, in their order.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.
        mesh_shape: the sizes of its dimensions.
        mesh_dim_names: their names.
        backend_override: accepted: devices of one type communicate in one way.

    Raises:
        RuntimeError: the sizes do not multiply to the number of ranks.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.device_mesh import init_device_mesh
        >>> init_device_mesh("cpu", (1,), mesh_dim_names=("shard",))
        DeviceMesh({'shard': 1}, 'cpu')
    """
    count = get_world_size()
    if np.prod(mesh_shape) != count:
        raise RuntimeError(
            f"`mesh_shape` must have as many places as there are ranks: {tuple(mesh_shape)} has "
            f"{int(np.prod(mesh_shape))}, and there are {count}"
        )
    grid = np.arange(count).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
