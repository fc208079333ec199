"""Training with several processes."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.distributed.data_parallel import DistributedDataParallel as DistributedDataParallel
from oneflow.nn.modules.data_parallel import DataParallel as DataParallel

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)

__all__ = ["DataParallel", "DistributedDataParallel"]
