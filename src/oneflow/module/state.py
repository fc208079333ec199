"""State dicts: collecting what a module holds, and loading it back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from oneflow.base.suggestions import did_you_mean
from oneflow.differentiation.grad_mode import no_grad
from oneflow.module.parameter import Parameter
from oneflow.sparse.tensor import SparseTensor
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import device_or_sharding, device_put, import_array
from oneflow.tensor.views import unwrap, write

EXTRA_STATE = "_extra_state"


def no_member(module: Any, name: str, registry: str) -> AttributeError:
    """The error of a module without a member of a name, with similar names of a registry."""
    hint = did_you_mean(name, module.__dict__[registry])
    return AttributeError(f"{type(module).__name__} has no attribute `{name}`{hint}")


class StatefulModule(Protocol):
    """Protocol: the members of a module that saving and loading need."""

    _version: int
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_pre_hooks: Any
    _state_dict_hooks: Any
    _load_state_dict_pre_hooks: Any
    _load_state_dict_post_hooks: Any
    _save_to_state_dict: Callable[..., None]
    _load_from_state_dict: Callable[..., None]
    get_extra_state: Callable[[], Any]
    set_extra_state: Callable[[Any], None]


class StateDict(OrderedDict[str, Any]):
    """Tensors by qualified name. `_metadata` has the version of every module by its prefix."""

    _metadata: OrderedDict


class IncompatibleKeys(NamedTuple):
    """Names that did not fit when a state dict was loaded."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    __str__ = __repr__


def collect(module: StatefulModule, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Put the state of `module` and everything below it into `destination`."""
    if destination is None:
        destination = StateDict()
        destination._metadata = OrderedDict()
    metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = metadata
    for hook in list(module._state_dict_pre_hooks.values()):
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(
                destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
            )
    for hook in list(module._state_dict_hooks.values()):
        replaced = hook(module, destination, prefix, metadata)
        if replaced is not None:
            destination = replaced
    return destination


def save_module_state(
    module: StatefulModule, destination: Any, prefix: str, keep_vars: bool
) -> None:
    """Put the parameters and persistent buffers of `module` itself into `destination`."""
    for name, tensor in module_state(module).items():
        destination[prefix + name] = tensor if keep_vars else tensor.detach()
    if overrides(module, "get_extra_state"):
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def module_state(module: StatefulModule) -> dict[str, Tensor]:
    """Parameters and persistent buffers of `module` itself that are not None."""
    hidden = module._non_persistent_buffers_set
    members = {**module._parameters, **module._buffers}
    return {
        name: tensor
        for name, tensor in members.items()
        if tensor is not None and name not in hidden
    }


def overrides(module: StatefulModule, method: str) -> bool:
    """Return True if the class of `module` overrides `method`; the base class's only raises."""
    return not getattr(getattr(type(module), method), "placeholder", False)


def placeholder(method: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method of the base class that subclasses may define."""
    vars(method)["placeholder"] = True
    return method


class StateDictLoader:
    """One `load_state_dict` in progress.

    Attributes:
        state: what is loaded.
        metadata: versions by module prefix.
        strict: report names that do not fit.
        assign: replace tensors instead of copying into them.
    """

    def __init__(self, state: Mapping[str, Any], strict: bool, assign: bool) -> None:
        self.metadata = getattr(state, "_metadata", None)
        self.state = StateDict(state)
        if self.metadata is not None:
            self.state._metadata = self.metadata
        self.strict = strict
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: StatefulModule, state: Mapping[str, Any], prefix: str = "") -> None:
        """Load `module` and everything below it."""
        metadata = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            metadata = {**metadata, "assign_to_params_buffers": True}
        module._load_from_state_dict(
            state, prefix, metadata, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                below = {key: value for key, value in state.items() if key.startswith(inner)}
                self.load(child, below, inner)
        incompatible = IncompatibleKeys(self.missing, self.unexpected)
        for hook in list(module._load_state_dict_post_hooks.values()):
            if hook(module, incompatible) is not None:
                raise RuntimeError(
                    "Hooks registered with `register_load_state_dict_post_hook` must not return "
                    "new values: change incompatible_keys in place"
                )

    def finish(self, module: StatefulModule) -> IncompatibleKeys:
        """Raise what went wrong; returns the names that did not fit."""
        errors = []
        if self.strict:
            for what, names in (
                ("Missing", self.missing),
                ("Unexpected", self.unexpected),
            ):
                if names:
                    names_text = ", ".join(f'"{name}"' for name in names)
                    errors.append(f"{what} key(s) in state_dict: {names_text}. ")
        errors += self.errors
        if errors:
            names_text = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{names_text}"
            )
        return IncompatibleKeys(self.missing, self.unexpected)


def load_module_state(
    module: StatefulModule,
    state: Mapping[str, Any],
    prefix: str,
    metadata: Mapping[str, Any],
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Load the parameters and persistent buffers of `module` itself, noting what does not fit."""
    for hook in list(module._load_state_dict_pre_hooks.values()):
        owner = (module,) if hook.with_module else ()
        hook.function(*owner, state, prefix, metadata, strict, missing, unexpected, errors)
    assign = metadata.get("assign_to_params_buffers", False)
    local_state = module_state(module)
    for name, target in local_state.items():
        key = prefix + name
        if key in state:
            _load_tensor(module, name, target, key, state[key], assign, errors)
        elif strict:
            missing.append(key)
    names = set(local_state)
    if overrides(module, "set_extra_state"):
        names.add(EXTRA_STATE)
        if prefix + EXTRA_STATE in state:
            module.set_extra_state(state[prefix + EXTRA_STATE])
        elif strict:
            missing.append(prefix + EXTRA_STATE)
    if strict:
        unexpected.extend(_unknown_names(module, state, prefix, names))


def _unknown_names(
    module: StatefulModule, state: Mapping[str, Any], prefix: str, names: set[str]
) -> list[str]:
    unknown = []
    for key in state:
        if not key.startswith(prefix):
            continue
        first, *rest = key[len(prefix) :].split(".", 1)
        if first not in names and not (rest and first in module._modules):
            unknown.append(key)
    return unknown


def _load_tensor(
    module: StatefulModule,
    name: str,
    target: Tensor,
    key: str,
    value: Any,
    assign: bool,
    errors: list[str],
) -> None:
    if not isinstance(value, Tensor):
        if not hasattr(value, "__array__"):
            errors.append(
                f'While copying the parameter named "{key}", expected a Tensor or an array '
                f"from checkpoint but received {type(value).__name__}"
            )
            return
        value = import_array(value)
    if not (getattr(target, "is_initialized", True) or getattr(value, "is_initialized", True)):
        return  # parameters of lazy layers, neither of which has been called
    if target.ndim == 0 and value.shape == (1,):
        value = value.reshape(())
    if value.shape != target.shape:
        errors.append(
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {target.shape}."
        )
        return
    if not assign:
        copy_into(target, value)
        return
    if isinstance(target, Parameter):
        if target.requires_grad and not (value.dtype.is_floating_point or value.dtype.is_complex):
            errors.append(
                f'While assigning the parameter named "{key}", only Tensors of floating point and '
                f"complex dtype can require gradients, got {value.dtype!r}."
            )
            return
        if not isinstance(value, Parameter):
            value = Parameter(value)
        value.requires_grad_(target.requires_grad)
    setattr(module, name, value)


def copy_into(target: Tensor, value: Tensor) -> None:
    """Write the values of `value` into `target`, which keeps its dtype, device and sharding.

    The copies are not recorded for backward. Every process takes part where one of the two is
    global.
    """
    if isinstance(target, SparseTensor):
        target.copy_(value)
        return
    with no_grad():
        spec = unwrap(target).spec
        write(
            target, device_put(unwrap(value).alias(), device_or_sharding(spec), spec.dtype).alias()
        )
