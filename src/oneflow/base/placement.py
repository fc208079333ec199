"""`placement`: the device mesh of a global tensor, as a grid of ranks."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import jax
import numpy as np

from oneflow.base import cluster, environment
from oneflow.base.device import DEVICE_TYPES, Device, get_default_device, platform_devices
from oneflow.base.grid_html import grid_html
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.planning import is_planning, planning_devices
from oneflow.base.sbp import BROADCAST, NdSbp, sbp_text

# Device types by every name that placements take; OneFlow 0.6 said "gpu".
_TYPES = {**{name: name for name in DEVICE_TYPES}, "gpu": "cuda"}

# The spellings of a grid of ranks. Lists of strings, which OneFlow 0.6 has, are left out: type
# checkers could not tell them from mistakes.
Ranks = (
    int
    | str
    | range
    | np.ndarray
    | Mapping[int, Any]
    | Sequence[int | Sequence[int] | Sequence[Sequence[int]]]
)


class Placement:
    """A grid of devices such as ``flow.placement("cpu", [0, 1])``.

    Equal ones are the same object.

    Args:
        type: ``"cpu"``, ``"cuda"`` or ``"tpu"``.
        ranks: numbers of ranks, nested as the grid is: ``[0, 1]``, ``[[0, 1], [2, 3]]``. The
            spellings of OneFlow 0.6 are understood too: ``{0: [0, 1]}`` (devices by machine) and
            ``"0:0-1"``.
        hierarchy: shape of the grid, with the spellings of OneFlow 0.6.

    Raises:
        ValueError: a type that does not exist, a rank given twice, or negative.

    Example:
        >>> import oneflow as flow
        >>> flow.placement("cpu", [0])
        oneflow.placement(type="cpu", ranks=[0])
    """

    __slots__ = ("__dict__", "flat", "hierarchy", "type")
    _instances: ClassVar[dict[tuple, Placement]] = {}

    type: str
    flat: tuple[int, ...]
    hierarchy: tuple[int, ...]

    @keyword_aliases(device_type="type", device_ids="ranks")
    def __new__(cls, type: str, ranks: Ranks, hierarchy: Any = None) -> Placement:
        """Return the one placement with this type and grid."""
        kind = _device_type(type)
        grid = _grid_from(ranks, hierarchy)
        key = (kind, tuple(grid.reshape(-1).tolist()), grid.shape)
        placement = cls._instances.get(key)
        if placement is None:
            placement = super().__new__(cls)
            placement.type, placement.flat, placement.hierarchy = key
            placement = cls._instances.setdefault(key, placement)
        return placement

    @staticmethod
    @keyword_aliases(type="device_type")
    def all(device_type: str) -> Placement:
        """All devices of one type, in one dimension.

        Raises:
            ValueError: there is none.
        """
        count = cluster.rank_count(_device_type(device_type))
        if not count:
            raise ValueError(f"there is no device of `device_type` {device_type!r}; use 'cpu'")
        return Placement(device_type, list(range(count)))

    @property
    def ranks(self) -> np.ndarray:
        """The ranks as an int64 array of the grid's shape."""
        return np.array(self.flat, np.int64).reshape(self.hierarchy)

    @property
    def ndim(self) -> int:
        """Number of dimensions of the grid."""
        return len(self.hierarchy)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return len(self.flat)

    @property
    def device_type(self) -> str:
        """The type, by its name in OneFlow 0.6."""
        return self.type

    @property
    def mesh(self) -> jax.sharding.Mesh:
        """The devices as a mesh, with dimensions called as in `mesh_axis`.

        While planning, CPU devices of this process stand for them, or devices of a topology.

        Raises:
            RuntimeError: there is no device for one of the ranks.
        """
        if not is_planning():
            return self._device_mesh
        missing = planning_devices()
        return self._mesh_of(list(missing[: self.size])) if missing else self._planning_mesh

    @functools.cached_property
    def _device_mesh(self) -> jax.sharding.Mesh:
        # The last rank first: its error says how many devices are needed.
        cluster.device_of_rank(self.type, max(self.flat))
        return self._mesh_of([cluster.device_of_rank(self.type, rank) for rank in self.flat])

    @functools.cached_property
    def _planning_mesh(self) -> jax.sharding.Mesh:
        devices = platform_devices("cpu")
        if len(devices) < self.size:
            raise RuntimeError(
                f"{self.size} CPU devices are needed to stand for those of a placement, and this "
                f"process has {len(devices)}; set {environment.CPU_DEVICES.name}={self.size}"
            )
        return self._mesh_of(list(devices[: self.size]))

    def _mesh_of(self, devices: list[Any]) -> jax.sharding.Mesh:
        names = tuple(map(mesh_axis, range(self.ndim)))
        return jax.sharding.Mesh(np.array(devices).reshape(self.hierarchy), names)

    def require_devices(self) -> None:
        """Make sure that there is a device for every rank; not while planning.

        Raises:
            RuntimeError: there is none for one of them.
        """
        assert is_planning() or self._device_mesh

    @property
    def exists(self) -> bool:
        """True if there is a device for every rank; True while planning."""
        try:
            self.require_devices()
        except RuntimeError:
            return False
        return True

    @property
    def includes_this_process(self) -> bool:
        """True if this process drives one of the devices; False while planning."""
        if is_planning():
            return False
        return not cluster.is_multiprocess() or cluster.rank() in self.flat

    @functools.cached_property
    def local_index(self) -> int:
        """Index, in the flat list of ranks, of the rank whose shard `to_local` returns."""
        return self.flat.index(cluster.rank()) if cluster.rank() in self.flat else 0

    @property
    def broadcast(self) -> NdSbp:
        """Broadcast in every dimension of the grid."""
        return (BROADCAST,) * self.ndim

    def __repr__(self) -> str:
        return f'oneflow.placement(type="{self.type}", ranks={self.ranks.tolist()})'

    def _repr_html_(self) -> str:
        title = f"{self.type}, {' x '.join(map(str, self.hierarchy))}"
        return grid_html(title, self.ranks, {})

    def __reduce__(self) -> tuple[Any, ...]:
        return (Placement, (self.type, self.ranks.tolist()))


def mesh_axis(dimension: int) -> str:
    """The name of a dimension of a placement's mesh."""
    return f"m{dimension}"


def _device_type(name: str) -> str:
    """Return the type of device that a name or its alias stands for."""
    if name not in _TYPES:
        raise ValueError(f"unknown device type {name!r}; expected one of {', '.join(_TYPES)}")
    return _TYPES[name]


def _grid_from(ranks: Any, hierarchy: Any) -> np.ndarray:
    """Return the grid of ranks that any accepted spelling describes."""
    if isinstance(ranks, str) or (isinstance(ranks, list) and ranks and isinstance(ranks[0], str)):
        ranks = _nodes_from_strings([ranks] if isinstance(ranks, str) else ranks)
    if isinstance(ranks, Mapping):
        ranks = _ranks_of_nodes(ranks)
    elif isinstance(ranks, range):
        ranks = list(ranks)
    wrong = ValueError(f"`ranks` must be integers nested like a grid, got {ranks!r}")
    try:
        grid = np.asarray(ranks)
    except ValueError:  # rows of different lengths
        raise wrong from None
    if grid.dtype.kind not in "iu" or not grid.size:
        raise wrong
    if hierarchy is not None:
        if math.prod(hierarchy) != grid.size:
            raise ValueError(f"hierarchy {tuple(hierarchy)} does not fit {grid.size} rank(s)")
        grid = grid.reshape(hierarchy)
    grid = grid.reshape(1) if grid.ndim == 0 else grid
    flat = grid.reshape(-1).tolist()
    if min(flat) < 0 or len(set(flat)) < len(flat):
        raise ValueError(f"`ranks` must be different numbers from 0 on, got {flat}")
    return grid.astype(np.int64)


def _nodes_from_strings(strings: list[str]) -> dict[int, list[int]]:
    """Devices by machine, from ``"0:0-3"`` (machine 0, devices 0 to 3)."""
    nodes: dict[int, list[int]] = {}
    for text in strings:
        match = re.fullmatch(r"@?(\d+):(\d+)(?:-(\d+))?", text)
        if match is None:
            raise ValueError(f'{text!r} does not name devices; write `"0:0-3"`, or ranks `[0, 1]`')
        machine, first, last = match.groups()
        devices = nodes.setdefault(int(machine), [])
        devices.extend(range(int(first), int(last or first) + 1))
    return nodes


def _ranks_of_nodes(nodes: Mapping[Any, Any]) -> list[int]:
    """Ranks of devices given by machine: each machine runs as many ranks as it has devices."""
    per_node = cluster.rank_count("cpu") // cluster.node_size()
    ranks = []
    for machine, devices in nodes.items():
        numbers = [devices] if isinstance(devices, int) else list(devices)
        ranks += [int(machine) * per_node + device for device in numbers]
    return ranks


class Sharding:
    """The distribution of a global tensor: a placement and one SBP signature per mesh dimension.

    Equal shardings are the same object.

    Attributes:
        placement: the mesh of devices.
        sbp: the signatures, one per dimension of the mesh.
        type: the device type, as a `Device` has it.
    """

    __slots__ = ("placement", "sbp", "type")
    _instances: ClassVar[dict[tuple, Sharding]] = {}

    placement: Placement
    sbp: NdSbp
    type: str

    def __new__(cls, placement: Placement, sbp: NdSbp) -> Sharding:
        """Return the one sharding with this placement and SBP."""
        sharding = cls._instances.get((placement, sbp))
        if sharding is None:
            sharding = super().__new__(cls)
            sharding.placement, sharding.sbp, sharding.type = placement, sbp, placement.type
            sharding = cls._instances.setdefault((placement, sbp), sharding)
        return sharding

    def __repr__(self) -> str:
        return f"{self.placement!r} {sbp_text(self.sbp)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Sharding, (self.placement, self.sbp))


# The `device` of an operator that makes tensors: of a local one, or of a global one.
DeviceOrSharding = Device | Sharding


def parse_device(device: Any, default: Any = None) -> Any:
    """The device meant by a `device=` argument.

    Without the argument it is `default`, or the default device.

    Placements, which are what global tensors have as device, are themselves.
    """
    if device is None:
        return get_default_device() if default is None else default
    if isinstance(device, Placement | Sharding):
        return device
    return Device(cast("Device | str | int", device))
