"""Settings of OneFlow's own NCCL runtime; accepted, because XLA decides these things."""

from oneflow.distributed.boxing_settings import (
    number as set_fusion_max_ops_num,
    number as set_fusion_threshold_mbytes,
    number as set_stream_num,
    switch as allow_fuse_all_gather,
    switch as allow_fuse_all_reduce,
    switch as allow_fuse_broadcast,
    switch as allow_fuse_mixed_ops,
    switch as allow_fuse_reduce,
    switch as allow_fuse_reduce_scatter,
    switch as disable_group_boxing_by_dst_parallel,
    switch as enable_all_to_all,
    switch as enable_use_buffer_to_fuse_all_reduce,
    switch as enable_use_compute_stream,
)

__all__ = [
    "allow_fuse_all_gather",
    "allow_fuse_all_reduce",
    "allow_fuse_broadcast",
    "allow_fuse_mixed_ops",
    "allow_fuse_reduce",
    "allow_fuse_reduce_scatter",
    "disable_group_boxing_by_dst_parallel",
    "enable_all_to_all",
    "enable_use_buffer_to_fuse_all_reduce",
    "enable_use_compute_stream",
    "set_fusion_max_ops_num",
    "set_fusion_threshold_mbytes",
    "set_stream_num",
]
