"""The flag on a device that says whether a run-time check has failed.

Programs that write to tensors take it, write nothing if it is set, and those with checks of their
own return it anew. So nobody on the host waits to learn whether a program may write. It is a
vector with an element for each device of a placement.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import NamedSharding

from oneflow.base.device import Device, xla_device
from oneflow.base.placement import Placement
from oneflow.compiler.sharding import on_local_devices, one_after_the_other

# Flags that are kept, one for each device or placement.
_MAX_FLAGS = 512


class CheckResults(NamedTuple):
    """The results of a program's run-time checks.

    Attributes:
        rows: one ``(is_bad, value)`` of int64 for each check.
        failed: the flag behind the program; None if it takes none.
    """

    rows: Any
    failed: Any = None


def abstract_flag(device: Device | Placement) -> jax.ShapeDtypeStruct:
    """Shape, dtype and, on a placement, sharding of a flag."""
    if isinstance(device, Placement):
        sharding = NamedSharding(device.mesh, one_after_the_other(device))
        return jax.ShapeDtypeStruct((device.size,), np.bool_, sharding=sharding)
    return jax.ShapeDtypeStruct((1,), np.bool_)


@functools.lru_cache(maxsize=_MAX_FLAGS)
def zero_flag(device: Device | Placement) -> Any:
    """The flag on a device where nothing has failed."""
    return _on_devices(np.zeros(1, np.bool_), device)


def move_flag(failed: Any, device: Device | Placement) -> Any:
    """A flag on another device; does not wait for it."""
    return _on_devices(failed.addressable_data(0), device)


def _on_devices(element: Any, device: Device | Placement) -> Any:
    if not isinstance(device, Placement):
        return jax.device_put(element, xla_device(device))
    return on_local_devices(element, device, (device.size,), one_after_the_other(device))
