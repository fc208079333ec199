"""Data parallelism within one process, which is the layer itself on its one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.device import Device, device_count
from oneflow.base.placement import parse_device
from oneflow.module.module import Module


class DataParallel(Module):
    """A layer on the device that this process uses; its name in the state dict is ``module``.

    PyTorch's splits each batch over several GPUs of one process, and its documentation advises
    against it. Here that is what global tensors do (``module.to_global``), or one process for each
    device with `nn.parallel.DistributedDataParallel`.

    Args:
        module: the layer.
        device_ids: the device, by default the only GPU; without one the layer stays where it is.
        output_device: the same device as in `device_ids`.
        dim: accepted; the batch is not split.

    Attributes:
        module: the layer.

    Shape:
        input: what the layer takes.
        output: what the layer returns.

    Raises:
        NotImplementedError: several devices.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.DataParallel(flow.nn.Linear(2, 3))
        >>> layer(flow.ones(4, 2)).shape, list(layer.state_dict())
        (oneflow.Size([4, 3]), ['module.weight', 'module.bias'])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | str | Device] | None = None,
        output_device: int | str | Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        device_indices = (
            list(range(device_count("cuda"))) if device_ids is None else list(device_ids)
        )
        devices = [
            Device("cuda", index) if isinstance(index, int) else index for index in device_indices
        ]
        if len(devices) > 1:
            raise NotImplementedError(
                f"DataParallel: one process computes on one device here, got {devices}; make the "
                "parameters global tensors with `module.to_global`, or start a process for each "
                "device and use `nn.parallel.DistributedDataParallel`"
            )
        self.device_ids, self.output_device, self.dim = device_indices, output_device, dim
        self.module = module.to(parse_device(devices[0])) if devices else module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
