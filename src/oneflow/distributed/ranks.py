"""The rank of this process and the world size: `oneflow.env`."""

from __future__ import annotations

from oneflow.base import cluster
from oneflow.base.placement import Placement


def get_rank() -> int:
    """Return the rank of this process in its job, from 0.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_rank() < flow.env.get_world_size()
        True
    """
    return cluster.rank()


def get_local_rank() -> int:
    """Return the rank of this process on its machine, from 0.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_local_rank() <= flow.env.get_rank()
        True
    """
    return cluster.local_rank()


def get_world_size() -> int:
    """Return the number of processes of the job; 1 for a process on its own.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_world_size() >= 1
        True
    """
    return cluster.world_size()


def get_node_size() -> int:
    """Return the number of machines of the job.

    Example:
        >>> import oneflow as flow
        >>> flow.env.get_node_size() >= 1
        True
    """
    return cluster.node_size()


def all_device_placement(device_type: str) -> Placement:
    """Return a one-dimensional placement of all devices of a type.

    Args:
        device_type: ``"cpu"``, ``"cuda"`` or ``"tpu"``.

    Example:
        >>> import oneflow as flow
        >>> flow.env.all_device_placement("cpu").ranks[0].item()
        0
    """
    return Placement.all(device_type)


def is_multi_client() -> bool:
    """Return True: every process runs the script itself, as in OneFlow since version 0.5.

    Example:
        >>> import oneflow as flow
        >>> flow.env.is_multi_client()
        True
    """
    return True


def init() -> bool:
    """Accepted for old scripts: processes connect when `oneflow` is imported.

    Returns:
        True.

    Example:
        >>> import oneflow as flow
        >>> flow.env.init()
        True
    """
    return True


def init_rdma() -> None:
    """Accepted for old scripts: XLA's communication libraries choose RDMA themselves.

    Example:
        >>> import oneflow as flow
        >>> flow.env.init_rdma()
    """


def destory_rdma() -> None:
    """Accepted for old scripts, as `init_rdma` is (the spelling is upstream's).

    Example:
        >>> import oneflow as flow
        >>> flow.env.destory_rdma()
    """


def rdma_is_initialized() -> bool:
    """Return False: `init_rdma` has no influence on how processes communicate.

    Example:
        >>> import oneflow as flow
        >>> flow.env.rdma_is_initialized()
        False
    """
    return False
