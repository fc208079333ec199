"""Spectral normalisation: a weight divided by its largest singular value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn import init
from oneflow.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from oneflow.nn.modules.uninitialized import require_initialized
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.distance import power_iteration, singular_value, unit_vectors
from oneflow.primitives.operators.elementwise import div
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write

AnyModule = TypeVar("AnyModule", bound=Module)


class SpectralNorm:
    """The hook that computes the weight before every call.

    Attributes:
        name: the attribute that gets it; a tensor that moves with the module.
        n_power_iterations: improvements of the singular vectors per call in training.
        dim: the dimension of the weight that counts outputs.
        eps: vectors are at least this long when normalised.
    """

    # PyTorch's version of the tensors in state dicts.
    _version = 1

    def __init__(self, name: str, steps: int, dim: int, eps: float) -> None:
        if steps <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={steps}"
            )
        self.name = name
        self.n_power_iterations = steps
        self.dim = dim
        self.eps = eps

    @property
    def target_name(self) -> str:
        """The attribute whose tensor is computed from others."""
        return self.name

    def compute(self, module: Module, update: bool) -> Tensor:
        """The weight; with `update` the singular vectors are improved first, in place."""
        original = getattr(module, f"{self.name}_orig")
        u, v = (getattr(module, f"{self.name}_{suffix}") for suffix in "uv")
        matrix = as_matrix(original, self.dim)
        if update:
            with no_grad():
                better = call(
                    power_iteration, matrix, u, v, self.eps, steps=self.n_power_iterations
                )
                for vector, new in zip((u, v), better, strict=True):
                    write(vector, unwrap(new).alias())
                # The next call writes to the buffers; this one's gradient needs them as they are.
                u, v = better
        return call(div, original, call(singular_value, matrix, u, v))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute(module, update=module.training))


class SpectralNormStateDictHook:
    """The hook that notes the version of a normalised weight in the metadata of state dicts."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, metadata: dict[str, Any]) -> None:
        versions = metadata.setdefault("spectral_norm", {})
        versions[f"{self.fn.name}.version"] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """The hook that reads state dicts of PyTorch 0.4 and before, which hold the weight, but no `v`.

    The weight is the original divided by the singular value, and `u` the vector of the last call.
    """

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + self.fn.name
        version = metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        is_new = key not in state_dict and all(f"{key}_{x}" in state_dict for x in ("orig", *"uv"))
        if version is not None or is_new:
            return
        missing = [name for name in (f"{key}_orig", key, f"{key}_u") if name not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else ())
            return
        with no_grad():
            original, weight = state_dict[f"{key}_orig"], state_dict.pop(key)
            matrix, u = as_matrix(original, self.fn.dim), state_dict[f"{key}_u"]
            v = (matrix.t().mm(matrix)).pinverse().mm(matrix.t()).mv(u)
            scale = (original / weight).mean() / u.dot(matrix.mv(v))
            state_dict[f"{key}_v"] = v * scale


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix whose rows are the slices along `dim`."""
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape((weight.shape[0], -1))


def output_dim(module: Module) -> int:
    """The dimension of a weight that counts outputs."""
    return int(isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d))


def random_unit_vector(size: int, like: Tensor, eps: float) -> Tensor:
    """A vector of length 1, of the dtype and device of `like`."""
    vector = wrap(zeros(shape=(size,), dtype=like.dtype, device=like.device))
    with no_grad():
        return call(unit_vectors, init.normal_(vector), eps, p=2.0, dim=0)


def spectral_norm(
    module: AnyModule,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> AnyModule:
    """Divide a weight by its largest singular value, estimated by power iteration.

    Args:
        module: has the parameter.
        name: the name of the parameter.
        n_power_iterations: improvements of the estimate per call in training.
        eps: vectors are at least this long when normalised.
        dim: dimension of the weight that counts outputs; default 0, 1 in transposed convolutions.

    Returns:
        The module itself.

    Raises:
        RuntimeError: the parameter is normalised already.
        ValueError: `n_power_iterations` is not positive, or the parameter belongs to a lazy layer
            that has not been called.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.spectral_norm(flow.nn.Linear(20, 40))
        >>> layer.weight_u.shape, layer.weight_v.shape
        (oneflow.Size([40]), oneflow.Size([20]))
    """
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            raise RuntimeError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}"
            )
    weight = module._parameters[name]
    require_initialized(weight, "spectral_norm")
    rule = SpectralNorm(name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    rows, columns = as_matrix(weight, rule.dim).shape
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach().clone())
    module.register_buffer(f"{name}_u", random_unit_vector(rows, weight, eps))
    module.register_buffer(f"{name}_v", random_unit_vector(columns, weight, eps))
    module.register_forward_pre_hook(rule)
    module._register_state_dict_hook(SpectralNormStateDictHook(rule))
    module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(rule))
    return module


def remove_spectral_norm(module: AnyModule, name: str = "weight") -> AnyModule:
    """Make the normalised weight an ordinary parameter again.

    Raises:
        ValueError: there is no such weight.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.spectral_norm(flow.nn.Linear(2, 3))
        >>> list(flow.nn.utils.remove_spectral_norm(layer).state_dict())
        ['bias', 'weight']
    """
    rules = [
        (number, rule)
        for number, rule in module._forward_pre_hooks.items()
        if isinstance(rule, SpectralNorm) and rule.name == name
    ]
    if not rules:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    number, rule = rules[0]
    with no_grad():
        weight = rule.compute(module, update=False)
    for attribute in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, attribute)
    module.register_parameter(name, Parameter(weight.detach()))
    del module._forward_pre_hooks[number]
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(hooks.items()):
            if getattr(getattr(hook, "function", hook), "fn", None) is rule:
                del hooks[key]
    return module
