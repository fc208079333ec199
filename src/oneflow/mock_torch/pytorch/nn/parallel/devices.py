"""Data parallelism over several devices of one process, step by step."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor, nn
from oneflow.cuda.devices import gpu


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Return nested containers for each device, with its parts of the tensors.

    Args:
        inputs: tensors in tuples, lists and dicts; other values go to every device.
        target_gpus: the devices, or their numbers.
        dim: the dimension along which tensors are divided.
    """
    places = [gpu(target) for target in target_gpus]

    def divide(value: Any) -> list[Any]:
        if isinstance(value, Tensor):
            parts = value.chunk(len(places), dim)
            return [part.to(place) for part, place in zip(parts, places, strict=False)]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return [type(value)(*fields) for fields in zip(*map(divide, value), strict=False)]
        if isinstance(value, tuple | list) and value:
            return [type(value)(items) for items in zip(*map(divide, value), strict=False)]
        if isinstance(value, dict) and value:
            values = zip(*map(divide, value.items()), strict=False)
            return [type(value)(part) for part in values]
        return [value for _ in places]

    return divide(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    target_gpus: Sequence[Any],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Return the arguments of a call for each device, by position and by name."""
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(dict(kwargs), target_gpus, dim) if kwargs else []
    count = max(len(args), len(named))
    args += [()] * (count - len(args))
    named += [{}] * (count - len(named))
    return tuple(args), tuple(named)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Return the results of several devices as one, on one device.

    Tensors without dimensions become the elements of one.
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        if first.ndim == 0:
            outputs, dim = [output.unsqueeze(0) for output in outputs], 0
        device = flow.device("cpu") if target_device in (-1, "cpu") else gpu(target_device)
        return flow.cat([output.to(device) for output in outputs], dim)
    if first is None:
        return None
    if isinstance(first, Mapping):
        kind: Any = type(first)
        return kind(
            {
                name: gather([output[name] for output in outputs], target_device, dim)
                for name in first
            }
        )
    parts = [
        gather(parts_of_item, target_device, dim) for parts_of_item in zip(*outputs, strict=True)
    ]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def replicate(network: nn.Module, devices: Sequence[Any], detach: bool = False) -> list[nn.Module]:
    """Return copies of a module on several devices, through which its parameters get gradients.

    Args:
        network: the module.
        devices: the devices, or their numbers.
        detach: let the parameters of the copies get gradients of their own.
    """
    return [_replica(network, gpu(device), detach) for device in devices]


def _replica(module: nn.Module, device: Any, detach: bool) -> nn.Module:
    replica = copy.copy(module)
    for store in ("_parameters", "_buffers", "_modules"):
        vars(replica)[store] = dict(vars(module)[store])
    for name, child in module._modules.items():
        replica._modules[name] = None if child is None else _replica(child, device, detach)
    for name, parameter in module._parameters.items():
        moved = parameter
        if parameter is not None:
            moved = (parameter.detach() if detach else parameter).to(device)
        vars(replica)["_parameters"][name] = moved
    for name, buffer in module._buffers.items():
        replica._buffers[name] = None if buffer is None else buffer.to(device)
    return replica


def parallel_apply(
    modules: Sequence[nn.Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[Mapping[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Return what each module returns for its arguments; devices compute at the same time."""
    named = kwargs_tup or [{}] * len(modules)
    arguments = [
        argument if isinstance(argument, tuple | list) else (argument,) for argument in inputs
    ]
    return [
        module(*args, **kwargs)
        for module, args, kwargs in zip(modules, arguments, named, strict=True)
    ]


def data_parallel(
    module: nn.Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Return what a module returns for a batch that is divided over devices of this process.

    Args:
        module: the module, on the first device.
        inputs: its arguments, or the only one.
        device_ids: the devices, by default all GPUs; without any the module is just called.
        output_device: where the result goes, by default the first one.
        dim: the dimension of the batch.
        module_kwargs: arguments by name.
    """
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    devices = list(range(flow.cuda.device_count())) if device_ids is None else list(device_ids)
    if len(devices) < 2:
        return module(*args, **(module_kwargs or {}))
    args_of_devices, named = scatter_kwargs(args, module_kwargs, devices, dim)
    used = devices[: len(args_of_devices)]
    results = parallel_apply(replicate(module, used), args_of_devices, named)
    return gather(results, devices[0] if output_device is None else output_device, dim)


__all__ = [
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    "scatter_kwargs",
]
