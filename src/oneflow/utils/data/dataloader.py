"""The loader."""

from oneflow.data.collate import (
    default_collate as default_collate,
    default_convert as default_convert,
)
from oneflow.data.loader import DataLoader as DataLoader
