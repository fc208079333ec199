"""The loader."""

from oneflow.data.collate import default_collate as default_collate
from oneflow.data.collate import default_convert as default_convert
from oneflow.data.loader import DataLoader as DataLoader
