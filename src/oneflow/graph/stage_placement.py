"""Stages of a pipeline: a module with a stage gets its inputs on the placement of that stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST, Split
from oneflow.functional.global_tensors.conversion import to_global
from oneflow.graph.block_config import BlockConfig
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def stage_placement(module: Module, config: BlockConfig) -> Placement | None:
    """The placement on which the stage of a module runs.

    It is the one given to `set_stage`, or that of the module's parameters and buffers; None for a
    module that has no stage or is not on a placement.
    """
    if config.stage_placement is not None:
        return config.stage_placement
    if config.stage_id is None:
        return None
    for tensor in (*module.parameters(), *module.buffers()):
        return unwrap(tensor).spec.device if tensor.is_global else None
    return None


def on_stage(forward: Callable[..., Any], placement: Placement) -> Callable[..., Any]:
    """Return `forward` with all global tensors among its arguments transferred to `placement`."""

    def run(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = transfer_tensors(args, placement), transfer_tensors(kwargs, placement)
        return forward(*args, **kwargs)

    return run


def transfer_tensors(value: Any, placement: Placement) -> Any:
    """Return `value` with the global tensors in its lists, tuples and dicts on `placement`.

    They keep their splits where the placement has as many dimensions.
    """
    if isinstance(value, Tensor):
        return _transfer_tensor(value, placement)
    if isinstance(value, dict):
        return type(value)({key: transfer_tensors(item, placement) for key, item in value.items()})
    if isinstance(value, list):
        return [transfer_tensors(item, placement) for item in value]
    if isinstance(value, tuple):
        items = [transfer_tensors(item, placement) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _transfer_tensor(tensor: Tensor, placement: Placement) -> Tensor:
    spec = tensor._value.spec
    if spec.sbp is None or spec.device is placement:
        return tensor
    sbp = placement.broadcast
    if spec.device.ndim == placement.ndim:
        sbp = tuple(
            [component if isinstance(component, Split) else BROADCAST for component in spec.sbp]
        )
    return to_global(tensor, placement, sbp)
