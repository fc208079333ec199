"""``torch.utils.data.datapipes._hook_iterator``: how far a pipe is."""

from oneflow.data.pipe_iterators import SnapshotState as _SnapshotState

__all__ = ["_SnapshotState"]
