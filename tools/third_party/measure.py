"""The measurements of a model: outputs, loss, gradients, keys, and parameters after a step.

Imports PyTorch, whose name is this package's in a process that says so. Numbers are drawn by NumPy,
so that both have the same.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch


def numbers(*shape: int, seed: int = 0, dtype: Any = torch.float64) -> torch.Tensor:
    """Return normally distributed numbers."""
    values = np.random.RandomState(seed).standard_normal(shape)
    return torch.tensor(values.tolist(), dtype=dtype)


def integers(*shape: int, below: int, seed: int = 0) -> torch.Tensor:
    """Return integers from 0."""
    values = np.random.RandomState(seed).randint(0, below, shape)
    return torch.tensor(values.tolist(), dtype=torch.int64)


def set_values(module: torch.nn.Module) -> None:
    """Give parameters and running statistics values that do not depend on the library."""
    draw = np.random.RandomState(1)
    with torch.no_grad():
        for name, tensor in sorted(module.state_dict(keep_vars=True).items()):
            if not torch.is_tensor(tensor) or not tensor.is_floating_point():
                continue
            shape = tuple(tensor.shape)
            if isinstance(tensor, torch.nn.Parameter):
                scale = 1 / max(1, int(np.prod(shape[1:]))) ** 0.5
                values = scale * draw.standard_normal(shape) + (len(shape) == 1)
            elif name.endswith(("running_mean", "running_var")):
                values = draw.uniform(0.5, 1.5, shape)
            else:
                continue
            tensor.copy_(torch.tensor(values.tolist(), dtype=tensor.dtype))


def values_in(value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of an output with floating point numbers, by their paths."""
    if torch.is_tensor(value):
        if value.is_floating_point() or value.is_complex():
            yield "", value
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, Mapping):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        members = list(value.items())
    elif isinstance(value, list | tuple):
        members = list(enumerate(value))
    else:
        return
    for key, member in members:
        for path, tensor in values_in(member):
            yield f".{key}{path}", tensor


def array(tensor: torch.Tensor) -> np.ndarray:
    """Return the values of a tensor."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def text(value: Any) -> np.ndarray:
    """Return any value, as text, for comparison."""
    return np.array(json.dumps(value, default=str))


def arrays(value: Any, kind: str = "output") -> dict[str, np.ndarray]:
    """Return the tensors of an output, by their paths."""
    return {f"{kind}: {path}": array(number) for path, number in values_in(value)}


def loss_of(output: Any) -> torch.Tensor:
    """Return the loss of an output, or a number that depends on all of it."""
    if isinstance(loss := getattr(output, "loss", None), torch.Tensor):
        return loss
    tensors = [tensor for _, tensor in values_in(output)]
    tensors = [tensor for tensor in tensors if tensor.requires_grad] or tensors
    parts = [torch.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in tensors]
    return torch.stack(
        [part.double().square().mean() + part.double().mean() for part in parts]
    ).sum()


def keys(module: torch.nn.Module) -> np.ndarray:
    """Return names, shapes and dtypes of a state dict, in order, as text."""
    state = module.state_dict()
    return text([(n, list(x.shape), str(x.dtype)) for n, x in state.items() if torch.is_tensor(x)])


def step(
    module: torch.nn.Module,
    call: Callable[[torch.nn.Module], Any],
    optimizer: Callable[..., Any] | None = None,
    *,
    training: bool = False,
    dtype: Any = torch.float64,
) -> dict[str, np.ndarray]:
    """Return what one step of training gives.

    Args:
        module: the module, whose values are set.
        call: gives its output.
        optimizer: makes an optimizer of parameters; default: gradient descent.
        training: whether the module is in training mode.
        dtype: of the module.
    """
    set_values(module)
    module.to(dtype).train(training)
    output = call(module)
    loss = loss_of(output)
    measured = {"keys": keys(module), **arrays(output), "loss": array(loss)}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    updates = (optimizer or _gradient_descent)(trained) if trained else None
    if updates is not None:
        updates.zero_grad()
    if loss.requires_grad:
        loss.backward()
    for name, parameter in module.named_parameters():
        if parameter.grad is not None:
            dense = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
            measured[f"gradient: {name}"] = array(dense)
    if updates is not None:
        updates.step()
    for name, tensor in module.state_dict().items():
        if torch.is_tensor(tensor):
            measured[f"after: {name}"] = array(tensor)
    return measured


def _gradient_descent(parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
