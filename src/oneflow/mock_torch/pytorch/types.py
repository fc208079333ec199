"""``torch.types``: names of types for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO

import oneflow as flow
from oneflow.functional.creation.storages import TypedStorage, UntypedStorage

_dtype = flow.dtype
_device = flow.device
_layout = flow.layout
_size = flow.Size | list[int] | tuple[int, ...]
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
Number = int | float | bool
Device = flow.device | str | int | None
Tensor = flow.Tensor
FileLike = str | os.PathLike[str] | IO[bytes]
Storage = TypedStorage | UntypedStorage
_TensorOrTensors = flow.Tensor | Sequence[flow.Tensor]

__all__ = [
    "Device",
    "FileLike",
    "Number",
    "Storage",
    "Tensor",
    "_TensorOrTensors",
    "_bool",
    "_device",
    "_dtype",
    "_float",
    "_int",
    "_layout",
    "_size",
]
