"""Files that one rank alone writes or reads, for all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from oneflow.base.device import CPU, Device
from oneflow.base.dtype import dtype_named
from oneflow.base.placement import DeviceOrSharding, Placement, Sharding
from oneflow.base.spec import spec_of
from oneflow.checkpoint.collective_io import broadcast_bytes, gather_to_rank, runs_rank
from oneflow.checkpoint.map_location import Location, make_restore_location
from oneflow.checkpoint.shared_memory import MemoryLayout
from oneflow.checkpoint.structure import StructureDecoder, StructureEncoder
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array
from oneflow.runtime.shards import make_global_array
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import fit_sharding, move_global
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def is_global(tensor: Tensor | np.ndarray) -> bool:
    """Return whether `tensor` is a global tensor."""
    return isinstance(tensor, Tensor) and unwrap(tensor).spec.sbp is not None


def host_arrays(
    tensors: Mapping[str, Tensor | np.ndarray], rank: int | None
) -> dict[str, np.ndarray]:
    """All values of tensors in the process of `rank`, or in each; the others take part."""
    arrays = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, Tensor) and rank is not None and is_global(tensor):
            array = gather_to_rank(unwrap(tensor).alias(), rank)
        elif rank is not None and not runs_rank(rank):
            continue
        else:
            array = _host_array(tensor)
        if array is not None:
            arrays[name] = array
    return arrays


def _host_array(tensor: Tensor | np.ndarray) -> np.ndarray:
    return np.asarray(read_array(unwrap(tensor))) if isinstance(tensor, Tensor) else tensor


def load_from_rank(
    rank: int,
    load_object: Callable[[Callable[[DeviceOrSharding], Device]], Any],
    location: Location | None,
) -> Any:
    """An object in all processes that `rank` reads; its tensors are global.

    Args:
        rank: who reads.
        load_object: reads the object, given where each of its tensors goes; only `rank` calls it.
        location: where tensors go; left out, to the device of `rank` of the type they were saved
            on.

    Raises:
        ValueError: `location` is a dict or function: only one rank knows where tensors were saved.
        RuntimeError: `rank` could not read it; there its own error is raised.
    """
    if isinstance(location, Mapping) or (
        callable(location) and not isinstance(location, Placement)
    ):
        raise ValueError(
            "with `global_src_rank`, `map_location` must be a device, a placement or a pair of "
            "placement and sbp"
        )
    restore_location = make_restore_location(location)

    def load_to(saved: DeviceOrSharding) -> Device:
        return CPU if location is not None else Device(saved.type, 0)

    received = _Received(rank, lambda: load_object(load_to))

    def make(name: str, saved: DeviceOrSharding, layout: MemoryLayout | None) -> Tensor:
        device = restore_location(saved)
        if isinstance(device, Device):
            source = Placement(device.type, [rank])
            device = Sharding(source, source.broadcast)
        return received.tensor(name, device, layout)

    return StructureDecoder(received.array, make, received.size).decode(received.structure)


class _Received:
    """The content of a file that one rank has read, in all processes.

    Attributes:
        structure: the object, described.
        size: the size of its tensors, in bytes.
    """

    def __init__(self, rank: int, load_here: Callable[[], Any]) -> None:
        self._rank = rank
        self._tensors: dict[str, Tensor | np.ndarray] = {}
        content: dict[str, Any] = {}
        failure: Exception | None = None
        if runs_rank(rank):
            try:
                content = self._encode(load_here())
            except Exception as error:
                failure = error
                content = {"failure": f"{type(error).__name__}: {error}"}
        content = json.loads(broadcast_bytes(rank, json.dumps(content).encode()))
        if failure is not None:
            raise failure
        if "failure" in content:
            raise RuntimeError(f"rank {rank} could not load for all: {content['failure']}")
        self.structure = content["structure"]
        self._headers = content["tensors"]
        self.size = sum(
            math.prod(shape) * dtype_named(kind).itemsize for kind, shape in self._headers.values()
        )

    def _encode(self, obj: Any) -> dict[str, Any]:
        encoder = StructureEncoder()
        structure = encoder.encode(obj)
        self._tensors = encoder.tensors
        headers = {
            name: [_host_array(tensor).dtype.name, list(tensor.shape)]
            for name, tensor in self._tensors.items()
        }
        return {"structure": structure, "tensors": headers}

    def array(self, name: str) -> np.ndarray:
        """A NumPy array of the object."""
        kind, shape = self._headers[name]
        content = _host_array(self._tensors[name]).tobytes() if runs_rank(self._rank) else b""
        numbers = np.frombuffer(broadcast_bytes(self._rank, content), dtype_named(kind).numpy)
        return numbers.reshape(shape)

    def tensor(self, name: str, sharding: Sharding, layout: MemoryLayout | None) -> Tensor:
        """A tensor of the object, or of a layout in it, as a global one."""
        kind, shape = self._headers[name]
        shape = shape if layout is None else layout.shape
        source = Placement(sharding.placement.type, [self._rank])
        spec = spec_of(tuple(shape), dtype_named(kind), source, source.broadcast)
        value = Value(spec, make_global_array(spec, lambda coordinate: self._numbers(name, layout)))
        target = fit_sharding(sharding, len(shape))
        if target is not Sharding(source, source.broadcast):
            value = move_global(value, target)
        return wrap(value)

    def _numbers(self, name: str, layout: MemoryLayout | None) -> np.ndarray:
        array = _host_array(self._tensors[name])
        return array if layout is None else layout.array(array)
