"""The run-time numbers of a program on its device: what has not changed is not sent again."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec

from oneflow.base.device import Device, xla_device
from oneflow.base.placement import Placement
from oneflow.base.x64 import in_x64
from oneflow.compiler.sharding import on_local_devices


class DeviceNumbers:
    """A vector that each run of a program takes.

    A vector of which the last run had an equal one stays on the device from then on. Others are
    given as NumPy's: XLA copies these in less time than a transfer of their own takes.

    Args:
        device: where the program runs.
    """

    __slots__ = ("_device", "_last")

    def __init__(self, device: Device | Placement) -> None:
        self._device = device
        # The bits of the vector, and the array; one object, for several threads may come here.
        self._last: tuple[bytes, Any] = b"", None

    def __call__(self, vector: np.ndarray) -> Any:
        """The vector as an argument of the program."""
        bits = vector.tobytes()
        last, array = self._last
        if bits != last:
            self._last = bits, None
            return vector
        if array is None:
            array = _replicated(vector, self._device)
            self._last = bits, array
        return array


@in_x64
def _replicated(vector: np.ndarray, device: Device | Placement) -> Any:
    """The vector on a device, or on each of a placement."""
    if not isinstance(device, Placement):
        return jax.device_put(vector, xla_device(device))
    return on_local_devices(vector, device, vector.shape, PartitionSpec())
