"""Collective operations on the tensors of the processes of a job."""

from oneflow.distributed.collectives import (
    all_gather as all_gather,
    all_gather_into_tensor as all_gather_into_tensor,
    all_reduce as all_reduce,
    all_to_all as all_to_all,
    barrier as barrier,
    broadcast as broadcast,
    gather as gather,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    reduce_scatter_tensor as reduce_scatter_tensor,
    scatter as scatter,
)
from oneflow.distributed.point_to_point import recv as recv, send as send

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "send",
]
