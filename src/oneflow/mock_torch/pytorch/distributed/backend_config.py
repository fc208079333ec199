"""Communication libraries by type of device, and names of PyTorch's C++ classes for them."""

from __future__ import annotations

from typing import NewType

from oneflow.distributed import Backend, get_backend
from oneflow.distributed.groups import GroupMember, ProcessGroup
from oneflow.mock_torch.missing import Missing

GroupName = NewType("GroupName", str)

# The types of devices whose tensors a library sends in PyTorch.
_DEVICES = {
    "gloo": ("cpu", "cuda"),
    "nccl": ("cuda",),
    "xccl": ("xpu",),
    "ucc": ("cpu", "cuda"),
    "mpi": ("cpu", "cuda"),
    "fake": ("cpu", "cuda", "hpu", "xpu"),
}


class BackendConfig:
    """The library that sends the tensors of each type of devices.

    Args:
        backend: the name of a library, or names by device: ``"cpu:gloo,cuda:nccl"``.

    Attributes:
        device_backend_map: the names of the libraries by type of device.

    Raises:
        ValueError: the text is neither, or names a type of devices twice.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.distributed.BackendConfig("gloo")
        cpu:gloo,cuda:gloo
    """

    def __init__(self, backend: Backend | str) -> None:
        name = str(backend).lower()
        self.device_backend_map: dict[str, Backend] = {}
        if name == Backend.UNDEFINED:
            name = f"cpu:{Backend.GLOO}"
        if ":" not in name:
            # A library that is unknown here is taken to send what one of PyTorch's own does.
            devices = _DEVICES.get(name, ("cpu", "cuda", "xpu"))
            self.device_backend_map = dict.fromkeys(devices, Backend(name))
            return
        for pair in name.split(","):
            device, *libraries = pair.split(":")
            if len(libraries) != 1:
                raise ValueError(f"`backend` must be like 'cpu:gloo,cuda:nccl', got {name!r}")
            if device in self.device_backend_map:
                raise ValueError(f"`backend` must name {device} once, got {name!r}")
            self.device_backend_map[device] = Backend(libraries[0])

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Return the names of the libraries by type of device."""
        return self.device_backend_map

    def __repr__(self) -> str:
        pairs = self.device_backend_map.items()
        return ",".join(f"{device}:{library}" for device, library in pairs)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return the libraries of a group by type of device, as text.

    Raises:
        ValueError: this process is not in the group.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.distributed.get_backend_config().startswith(("cpu:gloo", "cuda:nccl"))
        True
    """
    if group is not None and group == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("`group` must be one that this process is in")
    return str(BackendConfig(get_backend(group)))


class ProcessGroupGloo(Missing):
    """The connection of PyTorch's group by the library Gloo, for `isinstance`."""

    _reason = "`init_process_group` connects processes, and `new_group` makes groups of them"


class Reducer(Missing):
    """The part of PyTorch's `DistributedDataParallel` that is in C++, for `isinstance`."""

    _reason = "`DistributedDataParallel` averages gradients by hooks of its own"


class Logger(Missing):
    """The record that PyTorch's `DistributedDataParallel` keeps in C++, for `isinstance`."""

    _reason = "`oneflow.profiler` records what runs"
