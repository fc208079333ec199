"""Weight normalisation: direction and size of a weight as parameters of their own."""

from __future__ import annotations

from typing import Any, TypeVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.modules.uninitialized import require_initialized
from oneflow.primitives.operators.distance import slice_norms, weight_of_norm
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

AnyModule = TypeVar("AnyModule", bound=Module)


class WeightNorm:
    """The hook that computes the weight before every call.

    Attributes:
        name: the attribute that gets it; a tensor that moves with the module.
        dim: each slice along this dimension has a size of its own.
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        # As in PyTorch, whose files hold these attributes.
        self.dim = -1 if dim is None else dim

    @property
    def target_name(self) -> str:
        """The attribute whose tensor is computed from others."""
        return self.name

    def compute(self, module: Module) -> Tensor:
        """The weight from its direction ``name_v`` and its size ``name_g``."""
        direction, size = (getattr(module, f"{self.name}_{suffix}") for suffix in "vg")
        return call(weight_of_norm, direction, size, dim=_dim_of(self.dim))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module))


def _dim_of(dim: int) -> int | None:
    return None if dim == -1 else dim


def weight_norm(module: AnyModule, name: str = "weight", dim: int | None = 0) -> AnyModule:
    """Replace a parameter by its size and its direction, both learnable.

    Args:
        module: has the parameter.
        name: the name of the parameter.
        dim: each slice along this dimension has a size of its own; None, or -1 as in PyTorch: one
            size for all.

    Returns:
        The module itself.

    Raises:
        RuntimeError: the parameter is normalised already.
        ValueError: it belongs to a lazy layer that has not been called.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.weight_norm(flow.nn.Linear(2, 3))
        >>> layer.weight_g.shape, layer.weight_v.shape
        (oneflow.Size([3, 1]), oneflow.Size([3, 2]))
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, WeightNorm) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two weight_norm hooks on the same parameter {name}"
            )
    weight = getattr(module, name)
    require_initialized(weight, "weight_norm")
    rule = WeightNorm(name, None if dim in (None, -1) else dim % weight.ndim)
    del module._parameters[name]
    with no_grad():
        size = call(slice_norms, weight, dim=_dim_of(rule.dim))
    module.register_parameter(f"{name}_g", Parameter(wrap(unwrap(size))))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, rule.compute(module))
    module.register_forward_pre_hook(rule)
    return module


def remove_weight_norm(module: AnyModule, name: str = "weight") -> AnyModule:
    """Make the normalised weight an ordinary parameter again.

    Raises:
        ValueError: there is no such weight.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.weight_norm(flow.nn.Linear(2, 3))
        >>> list(dict(flow.nn.utils.remove_weight_norm(layer).named_parameters()))
        ['bias', 'weight']
    """
    for number, rule in module._forward_pre_hooks.items():
        if isinstance(rule, WeightNorm) and rule.name == name:
            weight = rule.compute(module).detach()
            delattr(module, name)
            del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
            setattr(module, name, Parameter(weight))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
