"""Queries of CUDA devices, and waiting for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oneflow.base.device import (
    Device,
    current_index,
    device_count as count_devices,
    platform_devices,
    select,
    xla_device,
)
from oneflow.random.generator import (
    get_rng_state as default_rng_state,
    manual_seed as seed_generator,
    set_rng_state as set_default_rng_state,
)
from oneflow.runtime.checks import raise_failed
from oneflow.runtime.eager import flush_all
from oneflow.runtime.memory import memory_statistics, wait_for
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class DeviceProperties:
    """A GPU's name, compute capability and memory in bytes.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     print(flow.cuda.get_device_properties(0).name)
    """

    name: str
    major: int
    minor: int
    total_memory: int


def gpu(device: Device | str | int | None) -> Device:
    """The GPU that `device` means; None is the current one."""
    if device is None or isinstance(device, int):
        return Device("cuda", device)
    return Device(device)


def is_available() -> bool:
    """Return True if XLA found a CUDA device.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.is_available() == (flow.cuda.device_count() > 0)
        True
    """
    return bool(platform_devices("cuda"))


def device_count() -> int:
    """Number of CUDA devices that the processes of this machine can use.

    Example:
        >>> import oneflow as flow
        >>> (flow.cuda.device_count() > 0) == flow.cuda.is_available()
        True
    """
    return count_devices("cuda")


def current_device() -> int:
    """Index of the device that ``"cuda"`` means.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     assert flow.cuda.current_device() < flow.cuda.device_count()
    """
    return current_index("cuda")


def set_device(device: Device | str | int) -> None:
    """Make `device` the device that ``"cuda"`` means.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.set_device(0)
    """
    select(gpu(device))


def synchronize(device: Device | str | int | None = None) -> None:
    """Run the recorded instructions and wait until `device` has finished them.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.synchronize()
    """
    device = gpu(device)
    xla_device(device)
    flush_all("sync")
    wait_for(device)
    raise_failed()


def get_device_properties(device: Device | str | int | None = None) -> DeviceProperties:
    """Name, compute capability and memory of a GPU.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     gigabytes = flow.cuda.get_device_properties(0).total_memory / 1e9
    """
    device = gpu(device)
    xla_gpu = xla_device(device)
    major, _, minor = str(getattr(xla_gpu, "compute_capability", "0.0")).partition(".")
    total = memory_statistics(device).get("bytes_limit", 0)
    return DeviceProperties(xla_gpu.device_kind, int(major), int(minor or 0), total)


def get_device_name(device: Device | str | int | None = None) -> str:
    """Name of a GPU; raises RuntimeError if there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     name = flow.cuda.get_device_name(0)
    """
    return get_device_properties(device).name


def get_device_capability(device: Device | str | int | None = None) -> tuple[int, int]:
    """Compute capability ``(major, minor)`` of a GPU.

    Raises RuntimeError if there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     major, minor = flow.cuda.get_device_capability(0)
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def manual_seed(seed: int) -> None:
    """Start the default generator again from `seed`; all devices share it.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.manual_seed(7)
        >>> flow.initial_seed()
        7
    """
    seed_generator(seed)


def init() -> None:
    """Return at once: devices are ready when they are needed.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.init()
    """


def is_initialized() -> bool:
    """Return whether there are CUDA devices: they need no preparation.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.is_initialized() == flow.cuda.is_available()
        True
    """
    return is_available()


def is_bf16_supported() -> bool:
    """Return whether there are CUDA devices: XLA computes in bfloat16 on all of them.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.is_bf16_supported() == flow.cuda.is_available()
        True
    """
    return is_available()


def get_rng_state(device: Device | str | int = "cuda") -> Tensor:
    """State of the default generator, which all devices share.

    Example:
        >>> import oneflow as flow
        >>> bool((flow.cuda.get_rng_state() == flow.get_rng_state()).all())
        True
    """
    return default_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """The random states of all CUDA devices: the default generator's for each.

    Example:
        >>> import oneflow as flow
        >>> len(flow.cuda.get_rng_state_all()) == flow.cuda.device_count()
        True
    """
    return [get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Device | str | int = "cuda") -> None:
    """Put the default generator, which all devices share, into a state.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.set_rng_state(flow.cuda.get_rng_state())
    """
    set_default_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Put the default generator into the last of some states, if there is one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.set_rng_state_all(flow.cuda.get_rng_state_all())
    """
    for state in new_states:
        set_rng_state(state)
