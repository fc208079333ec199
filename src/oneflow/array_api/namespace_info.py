"""Facts about the namespace: its capabilities, devices and dtypes."""

from __future__ import annotations

from typing import Any

from oneflow.array_api.data_types import STANDARD_DTYPES, isdtype
from oneflow.base.device import DEVICE_TYPES, Device, device_count, get_default_device
from oneflow.base.dtype import DType, complex_dtype, get_default_dtype, int64
from oneflow.tensor.array_namespace import ARRAY_API_VERSIONS

VERSION = ARRAY_API_VERSIONS[-1]


class NamespaceInfo:
    """Answers of the namespace to the standard's questions.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.__array_namespace_info__().default_dtypes()["integral"]
        oneflow.int64
    """

    def capabilities(self) -> dict[str, Any]:
        """Return what depends on the library."""
        # The limit of NumPy, whose functions run cold programs.
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device of arrays that name none."""
        return get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the dtypes of Python's numbers and of indices."""
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": complex_dtype(real),
            "integral": int64,
            "indexing": int64,
        }

    def devices(self) -> list[Device]:
        """Return the devices of this process."""
        return [Device(kind, index) for kind in DEVICE_TYPES for index in range(device_count(kind))]

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes by name: all, or those of the given kinds."""
        return {
            dtype.name: dtype for dtype in STANDARD_DTYPES if kind is None or isdtype(dtype, kind)
        }
