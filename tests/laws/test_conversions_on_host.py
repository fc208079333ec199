"""Conversions on the host give what the whole tensor has, from every SBP to every other one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, split
from oneflow.base.spec import spec_of
from oneflow.primitives.shard_shapes import shard_slices
from oneflow.primitives.sharding import host_boxing
from oneflow.primitives.sharding.host_boxing import convert_shards
from tests.laws.parts import differences, shards_of

MESHES = [(2,), (3,), (4,), (2, 2), (2, 3), (1, 2)]
SHAPES = [(), (1,), (0, 3), (7,), (5, 4), (2, 3, 7)]
DTYPES = ["float32", "int64", "bfloat16", "complex64", "bool"]
Sizes = tuple[int, ...]


def exchange(axis: int, pieces: Mapping[Sizes, Sequence[np.ndarray]]) -> dict:
    """Give each device what the others along a dimension of the mesh have for it."""
    received = {}
    for coordinate, own in pieces.items():
        peers = [(*coordinate[:axis], n, *coordinate[axis + 1 :]) for n in range(len(own))]
        received[coordinate] = [pieces[peer][coordinate[axis]] for peer in peers]
    return received


def layouts(mesh: Sizes, ndim: int, dtype: str) -> list[NdSbp]:
    sums = [] if dtype == "bool" else [PARTIAL_SUM]
    return list(itertools.product([BROADCAST, *sums, *map(split, range(ndim))], repeat=len(mesh)))


def compare(mine: np.ndarray, whole: np.ndarray) -> str | None:
    is_same = (mine.dtype, mine.shape) == (whole.dtype, whole.shape) and np.array_equal(mine, whole)
    return None if is_same else f"{mine}, expected {whole}"


@pytest.mark.parametrize("small", [True, False], ids=["at once", "in two rounds"])
@pytest.mark.parametrize("mesh", MESHES, ids=lambda mesh: "x".join(map(str, mesh)))
def test_conversions_keep_the_whole(
    mesh: Sizes, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_boxing, "_SMALL", 1 << 16 if small else 0)
    placement = flow.placement("cpu", np.arange(math.prod(mesh)).reshape(mesh))
    rng, problems = np.random.default_rng(0), []
    turns = itertools.cycle(DTYPES)
    for shape in SHAPES:
        for dtype in (next(turns), next(turns)):
            spec_dtype = getattr(flow, dtype)
            whole = np.asarray(rng.integers(0, 2 if dtype == "bool" else 9, shape))
            whole = whole.astype(spec_dtype.numpy)
            for source, target in itertools.product(layouts(mesh, len(shape), dtype), repeat=2):
                before, after = (
                    spec_of(shape, spec_dtype, placement, sbp) for sbp in (source, target)
                )
                shards = {
                    coordinate: part[
                        tuple(
                            slice(r.stop - r.start)
                            for r in shard_slices(shape, mesh, source, coordinate)
                        )
                    ]
                    for coordinate, part in shards_of(whole, before).items()
                }
                found = convert_shards(shards, shape, mesh, (source, target), exchange)
                problems += [
                    f"{dtype}{shape} from {source} to {target}: {problem}"
                    for problem in differences(found, whole, after, compare)
                ]
                for coordinate, shard in found.items():
                    sizes = [
                        r.stop - r.start for r in shard_slices(shape, mesh, target, coordinate)
                    ]
                    assert list(shard.shape) == sizes
    assert not problems, "\n".join(problems[:10])
