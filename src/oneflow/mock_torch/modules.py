"""The hook by which `pytorch` finds modules under PyTorch's names; the importer fills it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from oneflow.base.hook import Hook

#: The module that is found under one of PyTorch's names.
MODULE_IN_PLACE: Hook[Callable[[str], ModuleType]] = Hook(
    "MODULE_IN_PLACE", "oneflow.mock_torch.importer"
)
