"""`Tensor` as an array of the Python array API standard."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from oneflow.base.lazy_import import lazy_getattr
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor

# The standard's versions that the namespace fulfils; a later one adds to those before it.
ARRAY_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
# A higher room, which few programs need.
_import_namespace = lazy_getattr("oneflow", ("array_api",))


def array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    """Return the module with the standard's functions, `oneflow.array_api`.

    Args:
        self: any tensor.
        api_version: a version of the standard, such as ``"2024.12"``; default the last one.

    Raises:
        ValueError: the version is not one of those.
    """
    if api_version is not None and api_version not in ARRAY_API_VERSIONS:
        raise ValueError(
            f"version {api_version!r} of the array API is not supported; supported are "
            f"{', '.join(ARRAY_API_VERSIONS)}"
        )
    return _import_namespace("array_api")


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device.

    Raises:
        ValueError: a stream is named; XLA orders what runs on a device by itself.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).to_device("cpu").device
        device(type='cpu', index=0)
    """
    if stream is not None:
        raise ValueError(f"to_device(): streams are not supported, got {stream!r}")
    return self.to(device)


attach("__array_namespace__", array_namespace)
attach("to_device", to_device)
