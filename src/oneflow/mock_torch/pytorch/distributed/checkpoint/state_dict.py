"""Names of ``torch.distributed.checkpoint.state_dict``: states by the names of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oneflow import sbp, zeros_like
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.nn.parallel.distributed import DistributedDataParallel
from oneflow.mock_torch.pytorch.utils._pytree import tree_map
from oneflow.module.module import Module
from oneflow.module.state import IncompatibleKeys
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor


@dataclass
class StateDictOptions:
    """The options of taking and loading states.

    Attributes:
        full_state_dict: global tensors become whole local ones.
        cpu_offload: tensors go to the CPU.
        ignore_frozen_params: parameters that require no gradient are left out.
        keep_submodule_prefixes: accepted; `submodules` are refused.
        strict: the argument of `Module.load_state_dict`.
        broadcast_from_rank0: refused; `oneflow.load(global_src_rank=0)` does that.
        flatten_optimizer_state_dict: an optimizer's state has one level.
        dsd_fqn_modifiers: accepted.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    options = options or StateDictOptions()
    if submodules is not None:
        raise_missing("submodules", "take the state of the submodule itself")
    if options.broadcast_from_rank0:
        raise_missing(
            "broadcast_from_rank0",
            "`oneflow.load(file, global_src_rank=0)` reads for all processes",
        )
    return options


def _name(model: Module, name: str) -> str:
    """The name of a tensor without the prefixes of `DistributedDataParallel`."""
    steps = []
    module: Module | None = model
    for step in name.split("."):
        if not isinstance(module, DistributedDataParallel):
            steps.append(step)
        module = None if module is None else module._modules.get(step)
    return ".".join(steps)


def _names(model: Module) -> dict[int, str]:
    return {id(p): _name(model, n) for n, p in model.named_parameters(remove_duplicate=False)}


def _moved(state: Any, options: StateDictOptions) -> Any:
    """A state with tensors where the options want them."""

    def moved(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if options.full_state_dict and value.is_global:
            value = value.to_global(sbp=sbp.broadcast).to_local()
        return value.to("cpu") if options.cpu_offload and not value.is_global else value

    return tree_map(moved, state)


def get_model_state_dict(
    model: Module,
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Return the state of a module, without the names of `DistributedDataParallel` around it.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.checkpoint.state_dict import get_model_state_dict
        ...     list(get_model_state_dict(torch.nn.Linear(2, 1)))
        ['weight', 'bias']
    """
    options = _checked(options, submodules)
    frozen = {
        name
        for name, parameter in model.named_parameters(remove_duplicate=False)
        if options.ignore_frozen_params and not parameter.requires_grad
    }
    state = {_name(model, n): x for n, x in model.state_dict().items() if n not in frozen}
    return _moved(state, options)


def set_model_state_dict(
    model: Module, model_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None
) -> IncompatibleKeys:
    """Load the state that `get_model_state_dict` gave.

    Returns:
        The names that are missing, and those that are unexpected.
    """
    options = _checked(options)
    names = {_name(model, name): name for name in model.state_dict()}
    state = {names.get(name, name): value for name, value in model_state_dict.items()}
    return model.load_state_dict(state, strict=options.strict)


def _optimizers(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _make_states(optimizer: Optimizer) -> None:
    """Create an optimizer's states, if it has none, by a step of length 0.

    Nothing is done if parameters have gradients: the step would lose them.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(parameter.grad is not None for parameter in parameters):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = zeros_like(parameter)
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Return the states of optimizers by the names of the module's parameters.

    An optimizer that has made no step makes its states first, unless there are gradients: then it
    has none.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
        ...     model = torch.nn.Linear(2, 1)
        ...     optimizer = torch.optim.Adam(model.parameters())
        ...     list(get_optimizer_state_dict(model, optimizer)["state"])
        ['weight', 'bias']
    """
    options = _checked(options, submodules)
    names = _names(model)
    states: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _optimizers(optimizers):
        _make_states(optimizer)
        saved = optimizer.state_dict()
        by_number = dict(_with_numbers(optimizer, saved, names))
        states.update({by_number[k]: v for k, v in saved["state"].items() if k in by_number})
        groups += [
            {**group, "params": [by_number[k] for k in group["params"]]}
            for group in saved["param_groups"]
        ]
    state = _moved({"state": states, "param_groups": groups}, options)
    return _flattened(state) if options.flatten_optimizer_state_dict else state


def _with_numbers(
    optimizer: Optimizer, saved: Mapping[str, Any], names: Mapping[int, str]
) -> Iterator[tuple[Any, str]]:
    """The numbers of an optimizer's parameters in its state, and their names."""
    for group, saved_group in zip(optimizer.param_groups, saved["param_groups"], strict=True):
        for parameter, number in zip(group["params"], saved_group["params"], strict=True):
            if id(parameter) not in names:
                raise RuntimeError("the optimizer has a parameter that the model does not have")
            yield number, names[id(parameter)]


def _flattened(state: Mapping[str, Any]) -> dict[str, Any]:
    flat = {
        f"state.{name}.{key}": value
        for name, values in state["state"].items()
        for key, value in values.items()
    }
    for group in state["param_groups"]:
        for name in group["params"]:
            flat |= {f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"}
    return flat


def _unflattened(flat: Mapping[str, Any], optimizer: Optimizer, names: Mapping[int, str]) -> Any:
    states: dict[str, dict[str, Any]] = {}
    groups = []
    for group in optimizer.param_groups:
        members = [names[id(parameter)] for parameter in group["params"]]
        options = {k: flat.get(f"param_groups.{members[0]}.{k}", v) for k, v in group.items()}
        groups.append({**options, "params": members})
        for name in members:
            prefix = f"state.{name}."
            states[name] = {
                k.removeprefix(prefix): v for k, v in flat.items() if k.startswith(prefix)
            }
    return {"state": states, "param_groups": groups}


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: Mapping[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load the states of `get_optimizer_state_dict`, also where groups have another order."""
    _checked(options)
    names = _names(model)
    for optimizer in _optimizers(optimizers):
        state = optim_state_dict
        if "state" not in state or "param_groups" not in state:
            state = _unflattened(state, optimizer, names)
        saved = optimizer.state_dict()
        by_number = dict(_with_numbers(optimizer, saved, names))
        groups = {name: group for group in state["param_groups"] for name in group["params"]}
        param_groups = []
        for group in saved["param_groups"]:
            options_of_group = groups.get(by_number[group["params"][0]], {})
            param_groups.append({**group, **options_of_group, "params": group["params"]})
        states = {
            k: state["state"][name] for k, name in by_number.items() if name in state["state"]
        }
        optimizer.load_state_dict({"state": states, "param_groups": param_groups})


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the states of a module and of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: Mapping[str, Any],
    optim_state_dict: Mapping[str, Any],
    options: StateDictOptions | None = None,
) -> IncompatibleKeys:
    """Load the states of a module and of its optimizers."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]
