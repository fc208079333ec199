"""Names that ``torch.onnx`` has beside `oneflow.onnx`."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any


class TensorProtoDataType(enum.IntEnum):
    """Element types by their numbers in ONNX files."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Leave aside a function for TorchScript's exporter, which is not used."""


__all__ = ["TensorProtoDataType", "register_custom_op_symbolic"]
