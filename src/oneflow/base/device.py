"""Devices: where a tensor lives, as users name it, and the XLA device behind the name."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from oneflow.base.dtype import DType, bfloat16, float16
from oneflow.base.hook import Hook
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.tensor_threads import note_thread


@dataclass(frozen=True)
class DeviceType:
    """The properties of a type of devices.

    Attributes:
        platform: what JAX calls it.
        half_precision: what `oneflow.autocast` takes there if it is given nothing.
    """

    platform: str
    half_precision: DType


# The device types by the names that users know; nothing else lists them.
DEVICE_TYPES = {
    "cpu": DeviceType("cpu", bfloat16),
    "cuda": DeviceType("cuda", float16),
    "tpu": DeviceType("tpu", bfloat16),
}
# Tensors of this type's device have a shape and a dtype, and no values.
META_TYPE = "meta"
# PyTorch's further types, by which programs ask for what they prefer: devices of these types can be
# named and compared, but none is found.
TYPES_WITHOUT_ARRAYS = (META_TYPE, "mps", "xpu")
# The number of a device that PyTorch names by its type alone: the current one of this type.
CURRENT = -1
# PyTorch's devices of other types are named without a number, if it is 0.
INDEXED_TYPES = ("cuda", "tpu")


class Device:
    """A device such as ``flow.device("cpu")`` or ``flow.device("cuda", 1)``.

    Equal ones are the same object.

    Args:
        type: ``"cpu"``, ``"cuda"``, ``"tpu"``, or such a name with an index: ``"cuda:1"``;
            ``"meta"`` for tensors with a shape and without values, which take no memory; a bare
            number is the index of a CUDA device.
        index: ordinal of the device among those of its type; left out, the current one.

    Raises:
        RuntimeError: the type is unknown or the index is not an integer of at least 0.

    Example:
        >>> import oneflow as flow
        >>> flow.device("cpu:0")
        device(type='cpu', index=0)
        >>> with flow.device("cpu:0"):  # where new tensors live
        ...     flow.ones(2).device
        device(type='cpu', index=0)
        >>> with flow.device("meta"):
        ...     layer = flow.nn.Linear(1 << 20, 1 << 20)  # 4 TiB, if it had values
        >>> layer(flow.ones(3, 1 << 20, device="meta")).shape
        oneflow.Size([3, 1048576])
    """

    __slots__ = ("number", "type")
    _instances: ClassVar[dict[tuple[str, int], Device]] = {}

    type: str
    number: int

    def __new__(cls, type: str | Device | int, index: int | None = None) -> Device:
        """The one device of that type and index."""
        if isinstance(type, Device):
            return type if type.number != CURRENT else Device(type.type)
        if isinstance(type, int) and not isinstance(type, bool) and index is None:
            type, index = "cuda", type
        name, _, ordinal = str(type).partition(":")
        if name not in DEVICE_TYPES and name not in TYPES_WITHOUT_ARRAYS:
            kind = name.rstrip("0123456789")
            hint = f"; write `{kind}:{name[len(kind) :]}`" if kind in DEVICE_TYPES else ""
            raise RuntimeError(
                f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: "
                f"{name}{hint}"
            )
        if ordinal and index is not None:
            raise RuntimeError(f"device index given twice: in `{type}` and as index={index}")
        if ordinal and not ordinal.isdecimal():
            raise RuntimeError(f"invalid device string `{type}`; write it like 'cuda:0'")
        number = int(ordinal) if ordinal else current_index(name) if index is None else index
        if number < 0:
            raise RuntimeError(f"device index must not be negative, got {number}")
        if number == _cpu_number and name == "cpu":
            number = 0
        return cls._instances.get((name, number)) or cls._add(name, number)

    @classmethod
    def _add(cls, type: str, number: int) -> Device:
        """The unique object of a type and number."""
        device = super().__new__(cls)
        device.type, device.number = type, number
        return cls._instances.setdefault((type, number), device)

    @property
    def is_meta(self) -> bool:
        """True for the device whose tensors have no values."""
        return self.type == META_TYPE

    @property
    def index(self) -> int | None:
        """Its ordinal among the devices of its type; PyTorch's CPU has none."""
        is_indexed = self.number > 0 or self.type in INDEXED_TYPES
        has_index = is_indexed or program_name() != PYTORCH
        return self.number if has_index and self.number != CURRENT else None

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{number})"

    def __str__(self) -> str:
        return self.type if self.is_meta or self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Device, (self.type, self.number))

    def __enter__(self) -> Device:
        """Make new tensors of this thread on this device, unless they are given another one."""
        _defaults.devices.append(Device(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _defaults.devices.pop()


class _Selected(threading.local):
    """The index that this thread has chosen for each type of device."""

    def __init__(self) -> None:
        self.indices: dict[str, int] = {}


_selected = _Selected()
# For a process that owns some of a machine's devices: the number of the first one, and the count.
_local_devices: dict[str, tuple[int, int]] = {}


# Another number of this process's CPU, by which scripts of several processes name it.
_cpu_number = 0


def number_cpu(number: int) -> None:
    """Let another number name this process's CPU: its rank on its machine."""
    global _cpu_number
    _cpu_number = number


def number_devices(type: str, first: int, count: int) -> None:
    """Say that this process's devices of a type are numbers `first` and on of `count`.

    Scripts then find the same numbers on all processes of a machine.
    """
    _local_devices[type] = first, count


def first_index(type: str) -> int:
    """The number of this process's first device of a type."""
    return _local_devices[type][0] if type in _local_devices else 0


def device_count(type: str) -> int:
    """Return the number of devices of a type that the job can use on this machine."""
    local_count = len(platform_devices(type))
    return _local_devices[type][1] if local_count and type in _local_devices else local_count


def current_index(type: str) -> int:
    """The index that a device type without one means to this thread: the first, or `select`'s."""
    return _selected.indices.get(type, first_index(type))


CPU = Device("cpu")


class _Defaults(threading.local):
    """The default devices of this thread: a stack, the innermost ``with`` is the last."""

    def __init__(self) -> None:
        self.devices = [CPU]
        note_thread()


_defaults = _Defaults()


def get_default_device() -> Device:
    """Return where new tensors of this thread live if they are given no device.

    Example:
        >>> import oneflow as flow
        >>> flow.get_default_device()
        device(type='cpu', index=0)
    """
    return _defaults.devices[-1]


def set_default_device(device: Device | str | None) -> None:
    """Set where new tensors of this thread live if they are given no device.

    ``with oneflow.device(...):`` does so for a block.

    Args:
        device: a device or its name; None for the CPU.

    Raises:
        RuntimeError: an unknown type of device.

    Example:
        >>> import oneflow as flow
        >>> flow.set_default_device("cpu:0")
        >>> flow.ones(2).device
        device(type='cpu', index=0)
        >>> flow.set_default_device(None)
    """
    _defaults.devices[-1] = CPU if device is None else Device(device)


def select(device: Device) -> None:
    """Let this thread use `device` where a device is named by its type alone.

    Raises:
        RuntimeError: there is no such device.
    """
    xla_device(device)
    _selected.indices[device.type] = device.number


def set_cpu_devices(count: int) -> None:
    """Give this process `count` CPU devices; possible until one of them is first used.

    Args:
        count: the number of devices; 0 leaves the number as it is.

    Raises:
        RuntimeError: JAX has counted its devices before, and there are others than that many.
    """
    if count <= 0:
        return
    try:
        jax.config.update("jax_num_cpu_devices", count)
    except RuntimeError as error:
        actual = len(jax.devices("cpu"))
        if actual != count:
            raise RuntimeError(
                f"JAX was used before, with {actual} CPU devices, so that there cannot be {count} "
                "in this process; import oneflow before JAX makes its first array"
            ) from error


def are_devices_in_use() -> bool:
    """Return whether this process has looked for devices, whose number is fixed since."""
    return platform_devices.cache_info().currsize > 0


def set_min_cpu_devices(count: int) -> None:
    """Give this process at least `count` CPU devices, unless one of them has been used."""
    if not are_devices_in_use():
        set_cpu_devices(max(count, jax.config.values["jax_num_cpu_devices"]))


# Prepares the process for XLA, which is about to start; every call after the first does nothing.
PREPARE_PROCESS: Hook[Callable[[], None]] = Hook("PREPARE_PROCESS", "oneflow.runtime.start_up")
# Why this process cannot use devices.
_invalid_reason: str | None = None


def invalidate_devices(reason: str) -> bool:
    """Let every further use of a device raise, if one was used before; returns whether it was."""
    global _invalid_reason
    used = platform_devices.cache_info().currsize > 0
    if used:
        _invalid_reason = reason
        platform_devices.cache_clear()
        xla_device.cache_clear()
    return used


@functools.cache
def platform_devices(type: str) -> tuple[Any, ...]:
    """XLA's local devices of one type; empty when this machine or this jaxlib has none.

    Raises:
        RuntimeError: this process cannot use any, see `invalidate_devices`.
    """
    if _invalid_reason is not None:
        raise RuntimeError(_invalid_reason)
    if type in TYPES_WITHOUT_ARRAYS:
        return ()
    PREPARE_PROCESS.value()
    try:
        return tuple(jax.local_devices(backend=DEVICE_TYPES[type].platform))
    except RuntimeError:
        return ()


@functools.cache
def xla_device(device: Device) -> Any:
    """The XLA device behind `device`.

    Raises:
        RuntimeError: no such device here; says what was found and how to get one.
    """
    devices, first = platform_devices(device.type), first_index(device.type)
    if first <= device.number < first + len(devices):
        return devices[device.number - first]
    if devices:
        raise RuntimeError(
            f"device `{device}` does not exist: this process has {len(devices)} {device.type} "
            f"device(s), `{device.type}:{first}` to `{device.type}:{first + len(devices) - 1}`"
        )
    hint = " and install `oneflow-xla[cuda]`" if device.type == "cuda" else ""
    raise RuntimeError(
        f"device `{device}` is not available: no {device.type} device was found by XLA; "
        f"use `cpu`, or run on a machine with one{hint}"
    )


def device_from_xla(xla: Any) -> Device:
    """The device whose XLA device is `xla`, one of this process."""
    type = next(name for name in DEVICE_TYPES if xla in platform_devices(name))
    return Device(type, platform_devices(type).index(xla) + first_index(type))
