"""Names of ``torch.utils.data._utils.worker``."""

from oneflow.data.worker import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info"]
