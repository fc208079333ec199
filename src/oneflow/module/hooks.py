"""Hooks of modules: handles that take them away again, and calling a module that has some."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any
from weakref import ref

from oneflow.base.change_count import VersionDict
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import Node
from oneflow.program.value import Value
from oneflow.tensor.call import view_of_all, wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

_IDS = itertools.count()
CALL_KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
KINDS = (
    *CALL_KINDS,
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class RemovableHandle:
    """Takes a registered hook away again, with `remove()` or at the end of a ``with`` block."""

    def __init__(self, hooks: dict[Any, Any]) -> None:
        # Hooks of a module from a file have the numbers that another process gave them.
        self.id = next(number for number in _IDS if number not in hooks)
        self._hooks: ref[dict[Any, Any]] = ref(hooks)

    @property
    def hooks_dict_ref(self) -> ref[dict[Any, Any]]:
        """A weak reference to the hooks of the same kind, by identifier."""
        return self._hooks

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        # A copy of a module with its handle takes the hook from the copy, as in PyTorch.
        return self._hooks(), self.id

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id = state[:2]
        self._hooks = ref(hooks_in_place_of({} if hooks is None else hooks))

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Hooks(VersionDict):
    """Hooks of one kind by identifier, in the order they are called.

    A dict that can be held weakly.
    """

    __slots__ = ("__weakref__",)

    def register(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Add `hook` at the end, or before all others."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, got {type(hook).__name__}")
        handle = RemovableHandle(self)
        others = dict(self) if prepend else None
        if others is not None:
            self.clear()
        self[handle.id] = hook
        if others is not None:
            self.update(others)
        return handle


def hooks_in_place_of(hooks: dict[Any, Any]) -> Hooks:
    """Return what takes the place of a dict of hooks in a file, for the module and for handles.

    It is filled by the module, which knows the options of each.
    """
    if isinstance(hooks, Hooks):
        return hooks
    return getattr(hooks, "__dict__", {}).setdefault("_hooks_here", Hooks())


class KeywordHook:
    """A forward hook with options: it takes keyword arguments, or is called after errors, too.

    Attributes:
        function: the hook.
        with_kwargs: it gets keyword arguments too.
        always: it is called also when `forward` raised.
    """

    __slots__ = ("always", "function", "with_kwargs")

    def __init__(
        self, function: Callable[..., Any], with_kwargs: bool, always: bool = False
    ) -> None:
        self.function = function
        self.with_kwargs = with_kwargs
        self.always = always

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def call_hook(
    function: Callable[..., Any], with_kwargs: bool, always: bool = False
) -> Callable[..., Any]:
    """The function to register for a hook: itself, unless it is to be called otherwise."""
    return KeywordHook(function, with_kwargs, always) if with_kwargs or always else function


class LoadHook:
    """A hook before loading, and whether it gets the module, which PyTorch's files name, too."""

    __slots__ = ("_module", "function", "with_module")

    def __init__(self, function: Callable[..., Any], module: Any, with_module: bool) -> None:
        self.function = function
        self.with_module = with_module
        self._module: Callable[[], Any] = ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.function, "with_module": self.with_module}
        return {**state, "module": self._module()} if self.with_module else state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        module = state.get("module")
        self.function, self.with_module = state["hook"], state["with_module"]
        self._module = ref(module) if self.with_module else lambda: None


class HooksMixin:
    """The part of a module that keeps its hooks.

    Every ``register_...`` method returns a handle whose `remove()` takes the hook away again.
    """

    forward: Callable[..., Any]
    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _state_dict_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks
    _has_call_hooks = False

    def _make_hooks(self) -> None:
        for name in KINDS:
            self.__dict__[name] = Hooks()

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before `forward`.

        A return value other than None replaces the arguments.

        Args:
            hook: with `with_kwargs` it is called as ``hook(module, args, kwargs)`` and returns
                both.
            prepend: run it before the hooks already there.
            with_kwargs: pass keyword arguments too.
        """
        self.__dict__["_has_call_hooks"] = True
        return self._forward_pre_hooks.register(call_hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after `forward`.

        A return value other than None replaces the output.

        Args:
            hook: with `with_kwargs` it is called as ``hook(module, args, kwargs, output)``.
            prepend: run it before the hooks already there.
            with_kwargs: pass keyword arguments too.
            always_call: call it also when `forward` raised.
        """
        self.__dict__["_has_call_hooks"] = True
        return self._forward_hooks.register(call_hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known.

        It may replace them.
        """
        self.__dict__["_has_call_hooks"] = True
        return self._backward_pre_hooks.register(hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the inputs' gradients are known.

        A return value other than None replaces `grad_input`.
        """
        self.__dict__["_has_call_hooks"] = True
        return self._backward_hooks.register(hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the state dict is collected."""
        return self._state_dict_pre_hooks.register(hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, metadata)`` after it.

        A return value other than None replaces it.
        """
        return self._state_dict_hooks.register(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, metadata)`` after the state dict is collected."""

        def call(*args: Any) -> None:
            hook(*args)

        return self._state_dict_hooks.register(call)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before this module's own tensors are loaded.

        It gets ``(module, state_dict, prefix, metadata, strict, missing, unexpected, errors)`` and
        may change the dict and the lists in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        return self._load_state_dict_pre_hooks.register(LoadHook(hook, self, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading; it may change the lists."""
        return self._load_state_dict_post_hooks.register(hook)


# Hooks of all modules, by kind, which run before a module's own.
GLOBAL_HOOKS = {name: Hooks() for name in CALL_KINDS}


# Hooks on what becomes a member of any module, by the dictionary that it is put into.
REGISTRATION_HOOKS = {name: Hooks() for name in ("_parameters", "_buffers", "_modules")}


def registered(module: HooksMixin, kind: str, name: str, member: Any) -> Any:
    """Return a member that a module gets, or what hooks on all modules put in its place.

    A parameter that is None is only a name.
    """
    if member is None and kind == "_parameters":
        return None
    for hook in list(REGISTRATION_HOOKS[kind].values()):
        replaced = hook(module, name, member)
        member = member if replaced is None else replaced
    return member


def _hooks_of(module: HooksMixin, kind: str) -> list[tuple[int, Any]]:
    return [*GLOBAL_HOOKS[kind].items(), *getattr(module, kind).items()]


def call_with_hooks(module: HooksMixin, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
    """Run `module.forward` with all its hooks around it."""
    called: set[int] = set()
    output = None
    try:
        args, kwargs = _run_pre_hooks(module, args, kwargs)
        boundary = _boundary(module)
        if boundary is not None:
            args = boundary.enter(args)
        output = module.forward(*args, **kwargs)
        for identifier, hook in _hooks_of(module, "_forward_hooks"):
            called.add(identifier)
            output = _run_forward_hook(module, hook, args, kwargs, output)
        return output if boundary is None else boundary.leave(output)
    except Exception:
        for identifier, hook in _hooks_of(module, "_forward_hooks"):
            if isinstance(hook, KeywordHook) and hook.always and identifier not in called:
                _run_forward_hook(module, hook, args, kwargs, output)
        raise


def _run_pre_hooks(module: HooksMixin, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    for _, hook in _hooks_of(module, "_forward_pre_hooks"):
        if not isinstance(hook, KeywordHook):
            result = hook(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
            continue
        result = hook(module, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                f"but got {result}."
            )
        args, kwargs = result
    return args, kwargs


def _run_forward_hook(
    module: HooksMixin, hook: Callable, args: tuple, kwargs: dict, output: Any
) -> Any:
    with_kwargs = isinstance(hook, KeywordHook) and hook.with_kwargs
    result = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
    return output if result is None else result


def _boundary(module: HooksMixin) -> Boundary | None:
    if MODE.enabled and any(
        _hooks_of(module, kind) for kind in ("_backward_pre_hooks", "_backward_hooks")
    ):
        return Boundary(module)
    return None


class Boundary:
    """Watches the gradients that enter and leave one call of a module.

    All tensor inputs go through one node and all tensor outputs through another, so that their
    gradients arrive together.
    """

    def __init__(self, module: HooksMixin) -> None:
        self._module = module
        self._grad_output: tuple | None = None
        self._inputs = 0
        self._watches_inputs = False

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with tensors that require grad passed through the input node."""
        self._inputs = len(args)
        positions_with_grad = [
            i for i, arg in enumerate(args) if isinstance(arg, Tensor) and arg.requires_grad
        ]
        self._watches_inputs = bool(positions_with_grad)
        return _attach_node(args, positions_with_grad, self._input_gradients)

    def leave(self, output: Any) -> Any:
        """The result, with tensors that require grad passed through the output node."""
        outputs = output if isinstance(output, tuple) else (output,)
        positions_with_grad = [
            i
            for i, value in enumerate(outputs)
            if isinstance(value, Tensor) and value.requires_grad
        ]
        outputs = _attach_node(outputs, positions_with_grad, self._output_gradients)
        return outputs if isinstance(output, tuple) else outputs[0]

    def _output_gradients(self, grads: tuple) -> tuple:
        for _, hook in _hooks_of(self._module, "_backward_pre_hooks"):
            result = hook(self._module, grads)
            if result is not None:
                grads = _checked(result, grads, "grad_output")
        self._grad_output = grads
        if not self._watches_inputs:
            self._input_gradients((None,) * self._inputs)
        return grads

    def _input_gradients(self, grads: tuple) -> tuple:
        grad_output, self._grad_output = self._grad_output, None
        if grad_output is None:
            # A pass through the gradient of this call, which came in by no output.
            return grads
        for _, hook in _hooks_of(self._module, "_backward_hooks"):
            result = hook(self._module, grads, grad_output)
            if result is not None:
                grads = _checked(result, grads, "grad_input")
        return grads


def _checked(result: Any, before: tuple, name: str) -> tuple:
    """The result of a hook as a tuple with one entry per gradient."""
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(before):
        raise RuntimeError(
            f"Backward hook returned an invalid number of {name}, got {len(result)}, "
            f"but expected {len(before)}"
        )
    return result


class _BoundaryNode(Node):
    """Identity on several values that shows their gradients to a function."""

    __slots__ = ("_count", "_on_gradients", "_positions")
    materialize_grads = False

    def __init__(
        self, values: list[Value], positions: list[int], count: int, on_gradients: Callable
    ) -> None:
        edges = tuple([(value.node, value.output_index) for value in values])
        super().__init__(edges, tuple([value.spec for value in values]))
        self._positions, self._count, self._on_gradients = positions, count, on_gradients

    def apply(self, grads: list) -> list:
        grad_tensors: list[Tensor | None] = [None] * self._count
        for position, grad in zip(self._positions, grads, strict=True):
            grad_tensors[position] = None if grad is None else wrap(grad)
        changed = self._on_gradients(tuple(grad_tensors))
        selected = [changed[position] for position in self._positions]
        return [None if grad is None else unwrap(grad) for grad in selected]

    def name(self) -> str:
        return "module_boundary_backward"


def _attach_node(tensors: tuple, positions: list[int], on_gradients: Callable) -> tuple:
    """`tensors` with those at `positions` passed through one boundary node."""
    if not positions:
        return tensors
    values = [unwrap(tensors[position]) for position in positions]
    node = _BoundaryNode(values, positions, len(tensors), on_gradients)
    replaced = list(tensors)
    for index, (position, value) in enumerate(zip(positions, values, strict=True)):
        alias = value.alias()
        alias.node, alias.output_index = node, index
        replaced[position] = view_of_all(wrap(alias), tensors[position])
    return tuple(replaced)
