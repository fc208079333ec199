"""Modules as functions of their parameters and buffers, as ``functorch`` makes them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.utils.stateless import functional_call, stack_module_state
from oneflow.tensor.tensor import Tensor


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters and buffers.

    Attributes:
        stateless_model: a copy of the module without values.
        param_names: the names of the parameters.
        buffer_names: the names of the buffers.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.stateless_model = _without_values(module)
        self.param_names = tuple(name for name, _ in module.named_parameters())
        self.buffer_names = tuple(name for name, _ in module.named_buffers())

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        """Call the module with parameters and buffers in the order of their names."""
        parameters = dict(zip(self.param_names, params, strict=True))
        state = parameters | dict(zip(self.buffer_names, buffers, strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


def _without_values(module: Module) -> Module:
    """Return a copy of a module on the device `meta`; tied parameters stay tied."""
    copies: dict[int, Any] = {id(buffer): buffer.detach().to("meta") for buffer in module.buffers()}
    for parameter in module.parameters():
        copies[id(parameter)] = Parameter(parameter.detach().to("meta"), parameter.requires_grad)
    return copy.deepcopy(module, copies)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers as a function of its parameters."""

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        """Call the module with parameters in the order of their names."""
        return super().forward(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a module as a function of its parameters and buffers, and what these are.

    Args:
        model: the module; it stays as it is.
        disable_autograd_tracking: give parameters that require no grad.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch, functorch
        >>> model = torch.nn.BatchNorm1d(2).eval()
        >>> function, params, buffers = functorch.make_functional_with_buffers(model)
        >>> list(function(params, buffers, torch.ones(1, 2)).shape), len(params), len(buffers)
        ([1, 2], 2, 3)
    """
    copied = copy.deepcopy(model)
    if disable_autograd_tracking:
        copied.requires_grad_(False)
    return FunctionalModuleWithBuffers(model), tuple(copied.parameters()), tuple(copied.buffers())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return a module without buffers as a function of its parameters, and what these are.

    Args:
        model: the module; it stays as it is.
        disable_autograd_tracking: give parameters that require no grad.

    Raises:
        RuntimeError: it has buffers.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch, functorch
        >>> function, params = functorch.make_functional(torch.nn.Linear(2, 3))
        >>> list(function(params, torch.ones(1, 2)).shape)
        [1, 3]
    """
    if next(model.buffers(), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers; use make_functional_with_buffers(model)"
        )
    _, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(model), params


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return models of one kind as a function, and their parameters and buffers, stacked.

    They require no grad: ask for it, or differentiate with `grad`.

    Args:
        models: modules of one class with the same shapes, all training or none.

    Raises:
        RuntimeError: there are no models, or they differ.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch, functorch
        >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
        >>> function, params, buffers = functorch.combine_state_for_ensemble(models)
        >>> list(functorch.vmap(function, (0, 0, None))(params, buffers, torch.ones(2)).shape)
        [4, 3]
    """
    params, buffers = stack_module_state(models)
    function = FunctionalModuleWithBuffers(models[0])
    return function, tuple(tensor.detach() for tensor in params.values()), tuple(buffers.values())


__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]
