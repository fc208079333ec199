"""Parametrizations: parameters that are computed from others by modules."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.modules.container import ModuleDict, ModuleList
from oneflow.tensor.tensor import Tensor

AnyModule = TypeVar("AnyModule", bound=Module)


class _Cache(threading.local):
    """Values that parametrized tensors keep while `cached` is active, by module and name.

    Attributes:
        values: of this thread; None where nothing is kept.
    """

    values: dict[tuple[int, str], Tensor] | None = None


_CACHE = _Cache()


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside, however often it is read.

    Example:
        >>> import oneflow as flow
        >>> with flow.nn.utils.parametrize.cached():
        ...     pass
    """
    before = _CACHE.values
    _CACHE.values = {} if before is None else before
    try:
        yield
    finally:
        _CACHE.values = before


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the parameters that the first of them gets.

    Attributes:
        original: the parameter, or ``original0``, ``original1``, ... if there are several.

    Example:
        >>> from oneflow import nn
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        >>> layer.parametrizations.weight.original.shape
        oneflow.Size([3, 3])
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            found = self._invert(original)
        self.is_tensor = isinstance(found, Tensor)
        for name, each in zip(self._names(found), self._tensors(found), strict=True):
            is_parameter = isinstance(original, Parameter)
            value = each.detach()
            if is_parameter:
                self.register_parameter(name, Parameter(value, original.requires_grad))
            else:
                self.register_buffer(name, value)
        self.count = len(self._tensors(found))

    def append_checked(self, module: Module, unsafe: bool) -> None:
        """Add a parametrization of what the others return.

        Raises:
            ValueError: shape or dtype would change, unless `unsafe`.
        """
        if not unsafe:
            with no_grad():
                value = self.forward()
                _require_same_shape(module(value), value)
        self.unsafe = self.unsafe or unsafe
        self.append(module)

    def _invert(self, value: Tensor) -> Any:
        """The input of the first parametrization; one that has no inverse counts as identity."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    value = module.right_inverse(value)
        return value

    def _tensors(self, found: Any) -> list[Tensor]:
        return [found] if isinstance(found, Tensor) else list(found)

    def _names(self, found: Any) -> list[str]:
        if isinstance(found, Tensor):
            return ["original"]
        return [f"original{number}" for number in range(len(list(found)))]

    def _original_tensors(self) -> list[Tensor]:
        names = ["original"] if self.is_tensor else [f"original{n}" for n in range(self.count)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Any) -> None:
        """Write to the originals so that the parametrized tensor becomes `value`.

        Raises:
            RuntimeError: a parametrization has no `right_inverse`.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse: its result cannot be assigned to"
                    )
                value = module.right_inverse(value)
            for original, new in zip(self._original_tensors(), self._tensors(value), strict=True):
                original.copy_(new)

    def forward(self) -> Tensor:
        """Return the parametrized tensor."""
        first, *rest = list(self)
        value = first(*self._original_tensors())
        for module in rest:
            value = module(value)
        return value


def _require_same_shape(value: Tensor, original: Tensor) -> None:
    if value.shape != original.shape or value.dtype is not original.dtype:
        raise ValueError(
            "Registering a parametrization may not change the shape or dtype of the tensor, unless "
            f"the `unsafe` flag is enabled: {list(original.shape)} {original.dtype!r} became "
            f"{list(value.shape)} of {value.dtype!r}"
        )


def _property(name: str) -> property:
    """The attribute of that name of a module's parametrized class."""

    def get(self: Any) -> Tensor:
        values, key = _CACHE.values, (self, name)
        if values is None:
            return self.parametrizations[name]()
        if key not in values:
            values[key] = self.parametrizations[name]()
        return values[key]

    def set_(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set_)


def register_parametrization(
    module: AnyModule, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> AnyModule:
    """Compute a parameter or buffer of a module by another module.

    Args:
        module: has the tensor; its class becomes a subclass of its own.
        tensor_name: of the tensor.
        parametrization: called with the original parameters, returns the tensor. If it has a method
            `right_inverse`, that is called with the present value and returns the original
            parameter, or several; assigning to the attribute calls it, too. Of several
            parametrizations of one tensor each gets what the one before it returns.
        unsafe: do not see that shape and dtype stay the same.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor, or its shape or dtype would change.

    Example:
        >>> import oneflow as flow
        >>> class Symmetric(flow.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = flow.nn.Linear(3, 3)
        >>> _ = flow.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.mT).all())
        True
    """
    if is_parametrized(module, tensor_name):
        present: Any = module.parametrizations
        present[tensor_name].append_checked(parametrization, unsafe)
        return module
    original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if original is None:
        raise ValueError(
            f"Module '{module._get_name()}' does not have a parameter, a buffer, or a parametrized "
            f"element with name '{tensor_name}'"
        )
    chain = ParametrizationList([parametrization], original, unsafe)
    if not unsafe:
        with no_grad():
            _require_same_shape(chain(), original)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        base = type(module)
        name = f"Parametrized{base.__name__}"
        parametrized = type(name, (base,), {"__module__": base.__module__})
        object.__setattr__(module, "__class__", parametrized)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    found: Any = module.parametrizations
    found[tensor_name] = chain
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module, or that tensor of it, has parametrizations.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.parametrize.is_parametrized(flow.nn.Linear(2, 2))
        False
    """
    found = module._modules.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module: Module) -> type:
    """Return the class of a module without its parametrizations.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.parametrize.type_before_parametrizations(flow.nn.ReLU()).__name__
        'ReLU'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def remove_parametrizations(
    module: AnyModule, tensor_name: str, leave_parametrized: bool = True
) -> AnyModule:
    """Make a parametrized tensor an ordinary one again.

    Args:
        module: has the tensor.
        tensor_name: of the tensor.
        leave_parametrized: keep its present value; False takes back the original one.

    Returns:
        The module.

    Raises:
        ValueError: it has no parametrization, or the original one is several.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.utils.parametrizations.weight_norm(flow.nn.Linear(2, 3))
        >>> layer = flow.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found: Any = module.parametrizations
    chain: ParametrizationList = found[tensor_name]
    if not leave_parametrized and not chain.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    value = getattr(module, tensor_name) if leave_parametrized else chain._original_tensors()[0]
    is_parameter = bool(chain._parameters)
    requires_grad = chain._original_tensors()[0].requires_grad
    delattr(type(module), tensor_name)
    del found[tensor_name]
    if not len(found):
        base = type(module).__bases__[0]
        delattr(module, "parametrizations")
        object.__setattr__(module, "__class__", base)
    if is_parameter:
        module.register_parameter(tensor_name, Parameter(value.detach(), requires_grad))
    else:
        module.register_buffer(tensor_name, value.detach())
    return module
