"""A group of one process takes a store, which has nothing to exchange."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import oneflow as flow
from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")


def _sum_of_one_process(library: Any) -> tuple[bool, int, list[float]]:
    dist = library.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = library.ones(2)
        dist.all_reduce(x)
        return dist.is_initialized(), dist.get_world_size(), x.tolist()
    finally:
        dist.destroy_process_group()


def test_one_process_has_a_store() -> None:
    with enabled():
        ours = _sum_of_one_process(OURS)
    assert ours == _sum_of_one_process(torch)


@pytest.mark.parametrize("world_size", [-1, 2])
def test_a_store_of_several_processes_is_refused(world_size: int) -> None:
    with enabled():
        store = OURS.distributed.HashStore()
    with pytest.raises(ValueError, match="`store` needs `world_size` 1"):
        flow.distributed.init_process_group("gloo", store=store, rank=0, world_size=world_size)
