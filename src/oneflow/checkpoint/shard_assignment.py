"""The assignment of the parts of tensors to ranks and files.

Every process works that out for itself, from what it knows of the tensors without reading them, and
comes to the same result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from oneflow.base.spec import TensorSpec
from oneflow.primitives.shard_shapes import Sizes, mesh_coordinates, shard_slices
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

# A rank begins another file when one has so many bytes: its arrays are in the host's memory while
# it is written.
_FILE_BYTES = 2**30
# Stores what is local: its tensors are taken for those of all.
_FIRST_RANK = 0


class SavedShard(NamedTuple):
    """A shard of a tensor, in the file that has it under the tensor's name.

    Attributes:
        file: name of the file.
        offsets: the offsets of the shard in each dimension of the tensor.
        sizes: the sizes of the shard.
    """

    file: str
    offsets: Sizes
    sizes: Sizes


class ShardToSave(NamedTuple):
    """A shard that a rank must save.

    Attributes:
        name: the name of the tensor.
        device_index: the index of its device in the flat list of ranks; None for a local tensor.
    """

    name: str
    device_index: int | None


@dataclass
class ShardAssignment:
    """The contents of all files of a save.

    Attributes:
        parts: the shards of every tensor, which cover it without overlapping.
        files: the shards in each file.
        bytes: the number of bytes that each rank saves.
        ranks: the rank that writes each file.
    """

    parts: dict[str, list[SavedShard]] = field(default_factory=dict)
    files: dict[str, list[ShardToSave]] = field(default_factory=dict)
    bytes: Counter[int] = field(default_factory=Counter)
    ranks: dict[str, int] = field(default_factory=dict)

    def add(self, rank: int, shard: ShardToSave, slices: tuple[slice, ...], itemsize: int) -> None:
        """Let a rank store a part."""
        sizes = tuple([region.stop - region.start for region in slices])
        file = f"rank{rank}-{self.bytes[rank] // _FILE_BYTES}.safetensors"
        self.bytes[rank] += math.prod(sizes) * itemsize
        self.ranks[file] = rank
        self.files.setdefault(file, []).append(shard)
        starts = tuple([region.start for region in slices])
        self.parts[shard.name].append(SavedShard(file, starts, sizes))


def assign_shards(tensors: Mapping[str, Tensor | np.ndarray]) -> ShardAssignment:
    """The assignment for tensors; a part that several ranks hold alike is given to the idlest."""
    assignment = ShardAssignment()
    for name, tensor in tensors.items():
        assignment.parts[name] = []
        spec = unwrap(tensor).spec if isinstance(tensor, Tensor) else None
        if spec is None or spec.sbp is None:
            full = tuple([slice(0, size) for size in tensor.shape])
            itemsize = tensor.dtype.itemsize
            assignment.add(_FIRST_RANK, ShardToSave(name, None), full, itemsize)
            continue
        for slices, indices in _different_parts(spec):
            ranks = {spec.device.flat[index]: index for index in indices}
            rank = min(ranks, key=lambda rank: (assignment.bytes[rank], rank))
            assignment.add(rank, ShardToSave(name, ranks[rank]), slices, spec.dtype.itemsize)
    return assignment


# Parts are split in no more dimensions than a placement has.
_MAX_SPLIT_DIMS = 8


def is_partition(parts: Sequence[SavedShard], shape: Sizes) -> bool:
    """Return whether each element of a tensor is in exactly one part, and no part reaches beyond.

    A box's corners, with alternating signs, are the mixed derivative of the function that is one
    inside it. So parts add up to one everywhere if their corners add up to those of the whole.
    """
    if any(len(shape) != len(sizes) for part in parts for sizes in part[1:]):
        return False
    boxes = [[(at, at + n) for at, n in zip(p.offsets, p.sizes, strict=True)] for p in parts]
    full = [(0, size) for size in shape]
    split = [dim for dim, ends in enumerate(full) if any(box[dim] != ends for box in boxes)]
    if len(split) > _MAX_SPLIT_DIMS:
        return False
    corners: Counter[Sizes] = Counter()
    for box, sign in [(full, -1), *[(box, 1) for box in boxes]]:
        for corner in product(*[((box[dim][0], 1), (box[dim][1], -1)) for dim in split]):
            corners[tuple([at for at, _ in corner])] += sign * math.prod([s for _, s in corner])
    return not any(corners.values())


def _different_parts(spec: TensorSpec) -> Iterator[tuple[tuple[slice, ...], list[int]]]:
    """The distinct non-empty shards of a global tensor, with the indices of their devices."""
    placement: Any = spec.device
    indices_of: dict[tuple[Sizes, Sizes], list[int]] = {}
    for index, coordinate in enumerate(mesh_coordinates(placement.hierarchy)):
        slices = shard_slices(spec.shape, placement.hierarchy, spec.sbp or (), coordinate)
        key = (tuple(region.start for region in slices), tuple(region.stop for region in slices))
        indices_of.setdefault(key, []).append(index)
    for (starts, last), indices in indices_of.items():
        if all(stop > start for start, stop in zip(starts, last, strict=True)):
            yield tuple(map(slice, starts, last)), indices
