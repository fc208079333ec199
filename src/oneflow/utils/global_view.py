"""Global tensors: structures of them, and new tensors that are global without further words."""

from oneflow.functional.global_tensors.trees import (
    current_global_mode as current_global_mode,
    global_mode as global_mode,
)

# isort: split
# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.global_tensors.trees import to_global as to_global, to_local as to_local

__all__ = ["current_global_mode", "global_mode", "to_global", "to_local"]
