"""The loader."""

from oneflow.data.collate import (
    default_collate as default_collate,
    default_convert as default_convert,
)
from oneflow.data.loader import DataLoader as DataLoader
from oneflow.data.worker import get_worker_info as get_worker_info
