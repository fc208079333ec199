"""The names of `oneflow.compatible.single_client` that have the same meaning as in `oneflow`."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(importlib.import_module("oneflow"), name)
