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
        values: the values of this thread; None where nothing is kept.
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
            values = self._invert(original)
        self.is_tensor = isinstance(values, Tensor)
        if self.is_tensor:
            _put_into(original, values)
            self._register("original", original)
            return
        if not isinstance(values, Sequence) or not all(
            isinstance(tensor, Tensor) for tensor in values
        ):
            raise ValueError(
                f"`right_inverse` must return a Tensor or a Sequence of tensors, got {values!r}"
            )
        self.count = len(values)
        for number, tensor in enumerate(values):
            value = tensor.detach()
            if isinstance(original, Parameter):
                value = Parameter(value, original.requires_grad)
            self._register(f"original{number}", value)

    def _register(self, name: str, tensor: Tensor) -> None:
        if isinstance(tensor, Parameter):
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor)

    def append_checked(self, module: Module, unsafe: bool) -> None:
        """Add a parametrization of what the others return.

        Raises:
            ValueError: shape or dtype would change, unless `unsafe`, or it returns no tensor.
        """
        if not unsafe:
            with no_grad():
                value = self.forward()
                changed = module(value)
                _require_same_shape(changed, value)
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        _require_same_shape(module.right_inverse(changed), value)
        self.unsafe = self.unsafe or unsafe
        self.append(module)

    def _invert(self, value: Tensor) -> Any:
        """The input of the first parametrization; one that has no inverse counts as identity."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    value = module.right_inverse(value)
        return value

    def _tensors(self, originals: Any) -> list[Tensor]:
        return [originals] if isinstance(originals, Tensor) else list(originals)

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


def _put_into(original: Tensor, value: Tensor) -> None:
    """Give a tensor, which optimizers may hold, other content; the shape may be another.

    Raises:
        ValueError: `value` has another dtype or device.
    """
    if value.dtype is not original.dtype or value.device != original.device:
        raise ValueError(
            "When `right_inverse` outputs one tensor, it may not change the dtype or device: "
            f"{original.dtype!r} on {original.device} became {value.dtype!r} on {value.device}"
        )
    if value is not original:
        original.data = value.detach()


def _require_same_shape(value: Any, original: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor, got {type(value).__name__}")
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

    The parameter itself becomes the original one, so that an optimizer that holds it goes on
    training it. Several original parameters are new, and optimizers must be told of them.

    Args:
        module: has the tensor; its class becomes a subclass of its own.
        tensor_name: the name of the tensor.
        parametrization: called with the original parameters, returns the tensor. If it has a method
            `right_inverse`, that is called with the present value and returns the original
            parameter, or several; assigning to the attribute calls it, too. If a tensor has several
            parametrizations, each gets the result of the one before it. It is in training or
            evaluation mode as the module is.
        unsafe: do not see that shape and dtype stay the same.

    Returns:
        The module.

    Raises:
        ValueError: there is no such tensor, its shape or dtype would change, or the
            parametrization or its inverse returns something else than tensors.

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
    parametrization.train(module.training)
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
    before = original.detach()
    try:
        chain = ParametrizationList([parametrization], original, unsafe)
        if not unsafe:
            with no_grad():
                _require_same_shape(chain(), before)
    except Exception:
        original.data = before
        raise
    base = type_before_parametrizations(module)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    parametrizations: Any = module.parametrizations
    parametrizations[tensor_name] = chain
    _set_class(module, base)
    return module


def _set_class(module: Module, base: type) -> None:
    """Make a module an object of `base` whose parametrized tensors are properties.

    The class is the module's own, as copies of the module may lose their parametrizations.
    """
    names: Any = module._modules.get("parametrizations", ())
    properties = {name: _property(name) for name in names}
    contents = {"__module__": base.__module__, **properties}
    new_class = type(f"Parametrized{base.__name__}", (base,), contents) if properties else base
    object.__setattr__(module, "__class__", new_class)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module, or that tensor of it, has parametrizations.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.parametrize.is_parametrized(flow.nn.Linear(2, 2))
        False
    """
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


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
    """Make a parametrized tensor an ordinary one again: the original one, unless it is several.

    Args:
        module: has the tensor.
        tensor_name: the name of the tensor.
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
    parametrizations: Any = module.parametrizations
    chain: ParametrizationList = parametrizations[tensor_name]
    if not leave_parametrized and not chain.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    base = type_before_parametrizations(module)
    tensor = _without_parametrizations(module, tensor_name, chain, leave_parametrized)
    del parametrizations[tensor_name]
    if not len(parametrizations):
        delattr(module, "parametrizations")
    _set_class(module, base)
    if isinstance(tensor, Parameter):
        module.register_parameter(tensor_name, tensor)
    else:
        module.register_buffer(tensor_name, tensor)
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: AnyModule, tensor_name: str | None = None
) -> AnyModule:
    """Parametrize a module as another one is, with the other's original parameters.

    Args:
        from_module: the other one.
        to_module: gets the parametrizations; they are shared.
        tensor_name: the name of the tensor whose parametrizations to transfer; None: of all.

    Returns:
        `to_module`.

    Raises:
        ValueError: the tensor that is named is not parametrized.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(flow.nn.Linear(2, 3))
        >>> other = parametrize.transfer_parametrizations_and_params(layer, flow.nn.Linear(2, 3))
        >>> bool((other.weight == layer.weight).all())
        True
    """
    if tensor_name is not None and not is_parametrized(from_module, tensor_name):
        raise ValueError(f"{type(from_module).__name__} has no parametrized `{tensor_name}`")
    parametrizations: Any = from_module.parametrizations if is_parametrized(from_module) else {}
    for name in parametrizations if tensor_name is None else [tensor_name]:
        chain: ParametrizationList = parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in chain:
            register_parametrization(to_module, name, parametrization)
        new: Any = to_module.parametrizations
        for original in chain._parameters or chain._buffers:
            setattr(new[name], original, getattr(chain, original))
    return to_module


def _without_parametrizations(
    module: Module, tensor_name: str, chain: ParametrizationList, leave_parametrized: bool
) -> Tensor:
    """The tensor that takes the place of a parametrized one: the original, if there is one."""
    if chain.is_tensor:
        original = chain._original_tensors()[0]
        if leave_parametrized:
            with no_grad():
                _put_into(original, getattr(module, tensor_name))
        return original
    value = getattr(module, tensor_name)
    return Parameter(value.detach()) if value.requires_grad else value.detach()
