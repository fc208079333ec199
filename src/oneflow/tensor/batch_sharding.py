"""`BatchSharding`: the device, or the placement and SBP, of batches that are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType
from oneflow.base.placement import Placement, Sharding, parse_device
from oneflow.base.sbp import BROADCAST, NdSbp, Split, nd_sbp_of
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


@dataclass(frozen=True)
class BatchSharding:
    """The device, or the placement and SBP, of the tensors that come from a reader.

    Attributes:
        device: the device of local tensors.
        placement: the placement of global ones; None for local ones.
        sbp: the SBP of global ones: broadcast, or split along dimension 0.
        replica: for a job whose body runs several times, the number of the run, and of all runs,
            which share each batch.
    """

    device: Device = CPU
    placement: Placement | None = None
    sbp: NdSbp | None = None
    replica: tuple[int, int] = (0, 1)

    @property
    def _split_sizes(self) -> list[int]:
        """The sizes of the dimensions of the placement along which samples are split."""
        if self.placement is None or self.sbp is None:
            return []
        sizes = zip(self.sbp, self.placement.hierarchy, strict=True)
        return [size for component, size in sizes if isinstance(component, Split)]

    @property
    def shards(self) -> int:
        """The number of parts that the samples are divided into."""
        return math.prod(self._split_sizes) * self.replica[1]

    @property
    def local_shards(self) -> list[int]:
        """The parts that this process reads; one process alone reads all of a replica."""
        number, replicas = self.replica
        count = self.shards // replicas
        if self.placement is None or self.sbp is None or not cluster.is_multiprocess():
            return list(range(number * count, (number + 1) * count))
        places = np.argwhere(np.asarray(self.placement.ranks) == cluster.rank())
        place = places[0].tolist() if len(places) else [0] * self.placement.ndim
        split = [
            at
            for at, component in zip(place, self.sbp, strict=True)
            if isinstance(component, Split)
        ]
        shard = 0
        for at, size in zip(split, self._split_sizes, strict=True):
            shard = shard * size + at
        return [number * count + shard]

    def shard_size(self, batch_size: int) -> int:
        """Return how many samples of a batch each part has.

        Raises:
            ValueError: they cannot be divided.
        """
        if batch_size < 1 or batch_size % self.shards:
            raise ValueError(
                f"`batch_size` must be a positive multiple of {self.shards}, the number of devices "
                f"that share a batch, got {batch_size}"
            )
        return batch_size // self.shards

    @property
    def place(self) -> dict[str, Any]:
        """The arguments of a function that makes tensors, such as `oneflow.zeros`."""
        if self.placement is None:
            return {"device": self.device}
        return {"placement": self.placement, "sbp": self.sbp}

    def spec(self, shape: Sequence[int], dtype: DType) -> TensorSpec:
        """Return the spec of a tensor of this shape, the whole batch included."""
        if self.placement is None:
            return spec_of(tuple(shape), dtype, self.device)
        return spec_of(tuple(shape), dtype, self.placement, self.sbp)

    def tensor(self, array: np.ndarray) -> Tensor:
        """Return what this process has read as a tensor."""
        if self.placement is None:
            return import_array(array, device=self.device)
        if cluster.is_multiprocess() and self._split_sizes:
            return import_array(array).to_global(placement=self.placement, sbp=self.sbp)
        # Every process has the whole.
        return import_array(array, device=Sharding(self.placement, self.sbp or ()))


def batch_sharding_of(
    device: Any = None, placement: Placement | None = None, sbp: Any = None
) -> BatchSharding:
    """Return the sharding that the arguments of a reader name.

    Raises:
        ValueError: there is a device beside a placement, or an SBP that samples cannot have.
    """
    if placement is None:
        if sbp is not None:
            raise ValueError("`sbp` needs a `placement`")
        return BatchSharding(CPU if device is None else parse_device(device))
    if device is not None:
        raise ValueError("give `device` or `placement`, not both")
    signature = nd_sbp_of(BROADCAST if sbp is None else sbp, placement.ndim)
    for component in signature:
        if component != BROADCAST and not (isinstance(component, Split) and component.dim == 0):
            raise ValueError(f"samples are broadcast or split along dimension 0, got {sbp}")
    return BatchSharding(CPU, placement, signature)
