"""Training in several processes: collective operations and data parallelism."""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr

__getattr__ = _lazy_getattr(
    __name__,
    names=dict.fromkeys(
        ("get_local_rank", "get_rank", "get_world_size", "is_multi_client"),
        "oneflow.distributed.ranks",
    ),
)
