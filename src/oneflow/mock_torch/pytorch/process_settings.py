"""Settings of ``torch`` for threads, anomalies and devices that are not here, and sizes."""

from __future__ import annotations

import math
import os
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.base.dtype import DType

_threads: dict[str, int] = {}
_autocast: dict[str, Any] = {
    "xla": False,
    "ipu": False,
    "xla dtype": flow.bfloat16,
    "ipu dtype": flow.float16,
}


def get_num_interop_threads() -> int:
    """Return the number of threads that run operators side by side: what was set, or of cores."""
    return _threads.get("number", os.cpu_count() or 1)


def set_num_interop_threads(n: int) -> None:
    """Keep a number of threads; XLA runs what does not depend on each other on its own.

    Args:
        n: the number.

    Raises:
        RuntimeError: it is not positive, or was set before.
    """
    if n <= 0:
        raise RuntimeError(f"`n` must be positive, got {n}")
    if _threads:
        raise RuntimeError("`set_num_interop_threads` may be called once in a process")
    _threads["number"] = int(n)


def init_num_threads() -> None:
    """Start nothing: XLA starts its threads with the first program."""


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Turn the search for the forward call behind a failing backward pass on or off."""
    flow.autograd.set_detect_anomaly(mode, check_nan)


def sym_sqrt(a: float) -> float:
    """Return the square root of a number."""
    return math.sqrt(a)


def sym_fresh_size(expr: Any) -> Any:
    """Return a number of a size that is computed from values."""
    return flow.tensor(expr).item()


def dequantize(tensor: Tensor | list[Tensor] | tuple[Tensor, ...]) -> Any:
    """Return tensors as float32; none is quantized.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.process_settings import dequantize
        >>> dequantize(flow.ones(1, dtype=flow.float64)).dtype
        oneflow.float32
    """
    if isinstance(tensor, list | tuple):
        return [dequantize(part) for part in tensor]
    return tensor.to(flow.float32)


def get_autocast_xla_dtype() -> DType:
    """Return the dtype of mixed precision on PyTorch's device ``xla``."""
    return _autocast["xla dtype"]


def set_autocast_xla_dtype(dtype: DType) -> None:
    """Keep the dtype of mixed precision on PyTorch's device ``xla``."""
    _autocast["xla dtype"] = dtype


def is_autocast_xla_enabled() -> bool:
    """Return whether mixed precision is on for PyTorch's device ``xla``, on which no tensor is."""
    return _autocast["xla"]


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Turn mixed precision for PyTorch's device ``xla`` on or off."""
    _autocast["xla"] = bool(enabled)


def get_autocast_ipu_dtype() -> DType:
    """Return the dtype of mixed precision on IPUs."""
    return _autocast["ipu dtype"]


def set_autocast_ipu_dtype(dtype: DType) -> None:
    """Keep the dtype of mixed precision on IPUs."""
    _autocast["ipu dtype"] = dtype


def is_autocast_ipu_enabled() -> bool:
    """Return whether mixed precision is on for IPUs, on which no tensor is."""
    return _autocast["ipu"]


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Turn mixed precision for IPUs on or off."""
    _autocast["ipu"] = bool(enabled)


def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Make a tensor a view of its memory with other sizes and strides, and return it."""
    return input.as_strided_(size, stride, storage_offset)


def crow_indices_copy(input: Tensor) -> Tensor:
    """Return a copy of where the rows of a compressed tensor begin."""
    return input.crow_indices().clone()


def col_indices_copy(input: Tensor) -> Tensor:
    """Return a copy of the columns of a compressed tensor's elements."""
    return input.col_indices().clone()


def ccol_indices_copy(input: Tensor) -> Tensor:
    """Return a copy of where the columns of a compressed tensor begin."""
    return input.ccol_indices().clone()


def row_indices_copy(input: Tensor) -> Tensor:
    """Return a copy of the rows of a compressed tensor's elements."""
    return input.row_indices().clone()


def indices_copy(input: Tensor) -> Tensor:
    """Return a copy of the positions of a sparse tensor's elements."""
    return input.indices().clone()
