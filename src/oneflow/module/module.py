"""`Module`: the base class of all layers and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

from oneflow.base.change_count import CHANGES, MemberDict
from oneflow.base.keywords import KeywordSuggestion
from oneflow.base.traceback import hide_internal_frames
from oneflow.module.buffer import Buffer
from oneflow.module.conversion import ConversionMixin
from oneflow.module.hooks import HooksMixin, call_with_hooks, registered
from oneflow.module.parameter import Parameter
from oneflow.module.pytorch_state import STORES, PyTorchStateMixin
from oneflow.module.state import (
    IncompatibleKeys,
    StateDictLoader,
    collect,
    load_module_state,
    no_member,
    placeholder,
    save_module_state,
)
from oneflow.tensor.argument_errors import raise_argument_error
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.zero_grad import zero_grads

if TYPE_CHECKING:
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class _HasForward(Protocol[P, R_co]):
        def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    class _CallOfForward:
        def __get__(self, module: _HasForward[P, R_co], owner: type) -> Callable[P, R_co]: ...
        # Type checkers ask for this method where a module stands for a function.
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Module(HooksMixin, ConversionMixin, PyTorchStateMixin, KeywordSuggestion):
    """Base class of neural network modules: parameters, buffers and modules inside modules.

    Assigning a `Parameter` or another module to an attribute registers it. Define `forward`; call
    the module itself.

    Example:
        >>> import oneflow as flow
        >>> class Doubled(flow.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.inner = flow.nn.Linear(2, 3)
        ...     def forward(self, x):
        ...         return self.inner(x) * 2
        >>> Doubled()(flow.ones(4, 2)).shape
        oneflow.Size([4, 3])
    """

    training: bool
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _version: int = 1

    def __init__(self) -> None:
        members = self.__dict__
        members["training"] = True
        for name in STORES:
            members[name] = MemberDict()
        members["_non_persistent_buffers_set"] = set()
        self._make_hooks()

    # --- calling

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    if TYPE_CHECKING:
        # A call takes and returns what the subclass's `forward` does.
        __call__ = _CallOfForward()
    else:

        def __call__(self, *args, **kwargs):
            try:
                if self._has_call_hooks:
                    return call_with_hooks(self, args, kwargs)
                return self.forward(*args, **kwargs)
            except Exception as error:
                raise_argument_error(error, self.forward, args, kwargs)
                hide_internal_frames(error)
                raise

    # --- attributes

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        if "_parameters" in members:
            store = members["_parameters"]
            if name in store:
                return store[name]
            store = members["_modules"]
            if name in store:
                return store[name]
            store = members["_buffers"]
            if name in store:
                return store[name]
        # With the object Python adds which name may have been meant.
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
        )

    def __setattr__(self, name: str, value: Any) -> None:
        members = self.__dict__
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            self._unregister(name, "_parameters")
            self.register_parameter(name, value)
        elif is_tensor and isinstance(value, Buffer):
            self._unregister(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif isinstance(value, Module):
            self._unregister(name, "_modules")
            members["_modules"][name] = registered(self, "_modules", name, value)
        elif "_parameters" in members and name in members["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                    "(oneflow.nn.Parameter or None expected)"
                )
            members["_parameters"][name] = None
        elif "_modules" in members and name in members["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' "
                    "(oneflow.nn.Module or None expected)"
                )
            members["_modules"][name] = None
        elif "_buffers" in members and name in members["_buffers"]:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as buffer '{name}' "
                    "(oneflow.Tensor or None expected)"
                )
            members["_buffers"][name] = registered(self, "_buffers", name, value)
        else:
            object.__setattr__(self, name, value)
            CHANGES.value += 1

    def _unregister(self, name: str, keep: str) -> None:
        """Remove `name` wherever it is known, except from the registry `keep`."""
        members = self.__dict__
        if keep not in members:
            what = keep.strip("_")
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        members.pop(name, None)
        for registry in STORES:
            if registry != keep:
                members[registry].pop(name, None)
        members["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for registry in STORES:
            if name in self.__dict__[registry]:
                del self.__dict__[registry][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)
        CHANGES.value += 1

    def __dir__(self) -> list[str]:
        names = set(dir(type(self))) | set(self.__dict__)
        for registry in STORES:
            names |= set(self.__dict__[registry])
        return sorted(name for name in names if not name[0].isdigit())

    # --- registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None keeps the name without a tensor.

        Raises:
            TypeError: `param` is not a Parameter.
            KeyError: the name is taken, empty, or has a dot.
            ValueError: `param` is not a leaf.
        """
        self._check_name(name, "parameter", "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(oneflow.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. "
                "Model parameters must be created explicitly."
            )
        self.__dict__["_parameters"][name] = registered(self, "_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor that is part of the state but not a parameter.

        Args:
            name: attribute name.
            tensor: the buffer; None keeps the name without a tensor.
            persistent: whether it is part of the state dict.
        """
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(oneflow.Tensor or None required)"
            )
        self._buffers[name] = registered(self, "_buffers", name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module; None keeps the name without one."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"child `{name}` is not a Module but {type(module).__name__}")
        self._check_name(name, "module", "_modules")
        self._modules[name] = registered(self, "_modules", name, module)

    register_module = add_module

    def _check_name(self, name: str, what: str, registry: str) -> None:
        if registry not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: "{name}"')
        if not name:
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[registry] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # --- walking

    def _named(
        self, registry: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, member in module.__dict__[registry].items():
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their qualified names, shared ones once."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters of this module and, with `recurse`, of all below it."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their qualified names, shared ones once."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers of this module and, with `recurse`, of all below it."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    @property
    def consistent(self) -> bool:
        """True if all parameters and buffers are global, under OneFlow 0.5's name."""
        return all(tensor.is_global for tensor in (*self.parameters(), *self.buffers()))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Modules directly inside this one with their names, shared ones once."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """Modules directly inside this one."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it with their qualified names, shared ones once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inner, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, shared ones once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def get_submodule(self, target: str) -> Module:
        """The module called `target`, such as ``"layers.0.fc"``; the module itself for ``""``.

        Raises:
            AttributeError: there is none of that name.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise no_member(module, name, "_modules")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` in the place of the one called `target`; `strict` demands that there is one.

        Raises AttributeError if it, or a module on the way, does not exist.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict:
            parent.get_submodule(name)
        parent.add_module(name, module)

    def _get_member(self, target: str, kind: str, registry: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise no_member(module, name, registry)
        if name not in module.__dict__[registry]:
            raise AttributeError(f"`{name}` is not {kind}")
        return module.__dict__[registry][name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter called `target`; raises AttributeError if there is none."""
        return self._get_member(target, "an nn.Parameter", "_parameters")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer called `target`; raises AttributeError if there is none."""
        return self._get_member(target, "a buffer", "_buffers")

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every module below this one and then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # --- modes and gradients

    def train(self, mode: bool = True) -> Self:
        """Set training mode (dropout drops, batch norm uses the batch) here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switch the gradients of all parameters on or off."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Set the gradients of all parameters to zero, or to None: the default of PyTorch."""
        zero_grads(self.parameters(), set_to_none)

    # --- state dict

    def state_dict(
        self, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """All parameters and persistent buffers by qualified name.

        Args:
            destination: dict to add to; default: a new one.
            prefix: put before every name.
            keep_vars: give the tensors themselves instead of detached ones (which share their
                memory).
        """
        return collect(self, destination, prefix, keep_vars)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        save_module_state(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy parameters and buffers from a state dict.

        Args:
            state_dict: tensors or NumPy arrays by qualified name.
            strict: names that are missing or unexpected are an error.
            assign: take over the given tensors (with their dtype) instead of copying their values.

        Returns:
            The missing and the unexpected names.

        Raises:
            RuntimeError: names (with `strict`) or shapes do not fit; lists all of them.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict).__name__}."
            )
        loader = StateDictLoader(state_dict, strict, assign)
        loader.load(self, loader.state)
        return loader.finish(self)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: Mapping[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        load_module_state(
            self,
            state_dict,
            prefix,
            local_metadata,
            strict,
            missing_keys,
            unexpected_keys,
            error_msgs,
        )

    @placeholder
    def get_extra_state(self) -> Any:
        """Return further state for the state dict.

        Subclasses may define it together with `set_extra_state`.
        """
        raise RuntimeError("define get_extra_state to save extra state")

    @placeholder
    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError("define set_extra_state to load extra state")

    # --- printing

    def extra_repr(self) -> str:
        """Return the text that `repr` shows between the parentheses; subclasses define it."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(child))}" for name, child in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        lines += children
        inner = "".join(f"\n  {line}" for line in lines)
        return f"{self._get_name()}({inner}" + ("\n)" if lines else ")")


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
