"""State dicts of modules whose parameters are split over ranks, and of their optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed.groups import ProcessGroup, get_rank, group_ranks
from oneflow.distributed.objects import broadcast_object_list
from oneflow.mock_torch.pytorch.distributed.fsdp.api import StateDictSettings, StateDictType
from oneflow.mock_torch.pytorch.distributed.fsdp.gathered_parameters import unshard
from oneflow.mock_torch.pytorch.utils._pytree import tree_map
from oneflow.module.module import Module
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor

# The step that a wrapper adds to names.
PREFIX = "_fsdp_wrapped_module."


def register_state_hooks(wrapper: Any) -> None:
    """Register hooks that give a wrapper's state dict its module's names and the set type."""
    wrapper._register_state_dict_hook(_state_dict_hook)
    wrapper._register_load_state_dict_pre_hook(_load_pre_hook, with_module=True)


def _state_dict_hook(wrapper: Any, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    settings = wrapper._settings
    is_empty = getattr(settings.state_dict_config, "rank0_only", False) and get_rank() != 0
    inner = prefix + PREFIX
    for key in [key for key in state if key.startswith(inner)]:
        value = state.pop(key)
        if isinstance(value, Tensor):
            value = _saved(value, settings.state_dict_type)
            if settings.state_dict_config.offload_to_cpu and not value.is_global:
                value = value.cpu()
        if not is_empty:
            state[prefix + key.removeprefix(inner)] = value


def _saved(value: Tensor, kind: StateDictType) -> Tensor:
    """A tensor as state dicts of a type hold it."""
    if not value.is_global or kind is StateDictType.SHARDED_STATE_DICT:
        return value
    with no_grad():
        return unshard(value) if kind is StateDictType.FULL_STATE_DICT else value.to_local()


def _load_pre_hook(wrapper: Any, state: dict[str, Any], prefix: str, *others: Any) -> None:
    names = {
        name.replace(PREFIX, ""): parameter
        for name, parameter in wrapper.named_parameters(remove_duplicate=False)
    }
    is_local = wrapper._settings.state_dict_type is StateDictType.LOCAL_STATE_DICT
    for key in [key for key in state if key.startswith(prefix)]:
        name = key.removeprefix(prefix)
        value = state.pop(key)
        parameter = names.get(name)
        if is_local and parameter is not None and parameter.is_global and isinstance(value, Tensor):
            value = value.to_global(parameter.placement, parameter.sbp)
        state[prefix + PREFIX + name] = value


# --- optimizers


def _names(model: Module) -> dict[int, str]:
    named = model.named_parameters(remove_duplicate=False)
    return {id(parameter): name.replace(PREFIX, "") for name, parameter in named}


def _numbers(model: Module, optimizer: Optimizer, saved: Mapping[str, Any]) -> dict[int, Any]:
    """The parameters of an optimizer by their numbers in its state, with their names."""
    names = _names(model)
    return {
        number: (parameter, names[id(parameter)])
        for group, saved_group in zip(optimizer.param_groups, saved["param_groups"], strict=True)
        for parameter, number in zip(group["params"], saved_group["params"], strict=True)
    }


def optimizer_state(
    model: Module,
    optimizer: Optimizer,
    saved: Mapping[str, Any] | None,
    settings: StateDictSettings,
) -> dict[str, Any]:
    """Return the state of an optimizer by the names of parameters.

    Args:
        model: the module.
        optimizer: its optimizer.
        saved: the state by numbers, by default that of the optimizer.
        settings: what it holds of tensors.
    """
    saved = optimizer.state_dict() if saved is None else saved
    numbers = _numbers(model, optimizer, saved)
    config = settings.optim_state_dict_config

    def kept(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        value = _saved(value, settings.state_dict_type)
        return value.cpu() if config.offload_to_cpu and not value.is_global else value

    state = {numbers[number][1]: tree_map(kept, slots) for number, slots in saved["state"].items()}
    groups = [
        {**group, "params": [numbers[number][1] for number in group["params"]]}
        for group in saved["param_groups"]
    ]
    if getattr(config, "rank0_only", False) and get_rank() != 0:
        return {}
    return {"state": state, "param_groups": groups}


def optimizer_state_to_load(
    model: Module,
    optimizer: Optimizer,
    named: Mapping[str, Any],
    settings: StateDictSettings,
    group: ProcessGroup | None,
) -> dict[str, Any]:
    """Return the state of an optimizer by its numbers of parameters.

    Args:
        model: the module.
        optimizer: its optimizer.
        named: the state by the names of parameters.
        settings: what it holds of tensors.
        group: the ranks that get the state where only the first one has it.
    """
    if getattr(settings.optim_state_dict_config, "rank0_only", False):
        objects = [named]
        broadcast_object_list(objects, group_ranks(group)[0], group)
        named = objects[0]
    is_local = settings.state_dict_type is StateDictType.LOCAL_STATE_DICT
    saved = optimizer.state_dict()
    numbers = _numbers(model, optimizer, saved)
    options = {name: group for group in named["param_groups"] for name in group["params"]}
    state = {
        number: {
            key: _to_global(value, parameter) if is_local and parameter.is_global else value
            for key, value in named["state"][name].items()
        }
        for number, (parameter, name) in numbers.items()
        if name in named["state"]
    }
    groups = [
        {**group, **options.get(numbers[group["params"][0]][1], {}), "params": group["params"]}
        for group in saved["param_groups"]
    ]
    return {"state": state, "param_groups": groups}


def _to_global(value: Any, like: Tensor) -> Any:
    """A tensor of an optimizer's state as global as a parameter is; numbers stay as they are."""
    if not isinstance(value, Tensor) or value.ndim == 0:
        return value
    return value.to_global(like.placement, like.sbp)
