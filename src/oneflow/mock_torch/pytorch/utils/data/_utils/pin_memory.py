"""Names of ``torch.utils.data._utils.pin_memory``."""

from __future__ import annotations

from typing import Any

from oneflow.data.collate import map_leaves


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return nested containers with their tensors in memory from which devices copy."""
    return map_leaves(lambda leaf: leaf.pin_memory() if hasattr(leaf, "pin_memory") else leaf, data)


__all__ = ["pin_memory"]
