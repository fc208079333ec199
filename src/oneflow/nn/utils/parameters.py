"""Parameters as one vector, and modules without initial values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oneflow.module.module import Module
from oneflow.primitives.operators.shape import concat, reshape
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, one after the other.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.parameters_to_vector(flow.nn.Linear(2, 3).parameters()).shape
        oneflow.Size([9])
    """
    flat = [call(reshape, parameter, shape=(parameter.numel(),)) for parameter in parameters]
    return call(concat, *flat, dim=0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make parameters views of a vector's elements, in order.

    Raises:
        TypeError: `vec` is not a tensor.
        ValueError: it does not have as many elements as the parameters.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(1, 1)
        >>> flow.nn.utils.vector_to_parameters(flow.tensor([2.0, 3.0]), layer.parameters())
        >>> layer.bias.item()
        3.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected oneflow.Tensor, but got: {type(vec).__name__}")
    targets = list(parameters)
    sizes = tuple(target.numel() for target in targets)
    if sum(sizes) != vec.numel():
        raise ValueError(
            f"`vec` has {vec.numel()} elements, the parameters have {sum(sizes)} together"
        )
    start = 0
    for target, size in zip(targets, sizes, strict=True):
        target.data = vec.detach()[start : start + size].view(target.shape)
        start += size


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """Make a module whose initial values are left as they are in memory: zeros.

    Args:
        module_cls: class of the module.
        *args: its arguments.
        **kwargs: its keyword arguments; `device` is where the module goes.

    Raises:
        RuntimeError: `module_cls` is no module class.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.skip_init(flow.nn.Linear, 2, 1).weight.tolist()
        [[0.0, 0.0]]
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    module = module_cls(*args, **kwargs)
    return module.to_empty(device=kwargs.get("device") or "cpu")
