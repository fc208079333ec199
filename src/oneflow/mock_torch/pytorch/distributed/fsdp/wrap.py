"""``torch.distributed.fsdp.wrap``: policies that choose the modules which are wrapped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.nn.modules.container import ModuleDict, ModuleList
from oneflow.nn.modules.multi_head_attention import MultiheadAttention

Options = dict[str, Any]


class _Policy(ABC):
    """A choice of the modules below a root that are wrapped, each with its options."""

    @abstractmethod
    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: Options
    ) -> dict[Module, Options]:
        """Return the modules that are wrapped and the options of each."""


class ModuleWrapPolicy(_Policy):
    """Wrap all modules of some classes.

    Args:
        module_classes: the classes.

    Raises:
        ValueError: there is none.
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)
        if not self._module_classes:
            raise ValueError("`module_classes` must have at least one class, got none")
        self._module_classes_str = str(self._module_classes)

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: Options
    ) -> dict[Module, Options]:
        classes = tuple(self._module_classes)
        return {
            module: root_kwargs
            for module in root_module.modules()
            if module not in ignored_modules and isinstance(module, classes)
        }

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Answer as a policy that is a function."""
        return _module_wrap_policy(module, recurse, -1, self._module_classes)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Wrap what a function chooses: it returns False, True, or options that differ.

    Args:
        lambda_fn: called with each module.
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | Options]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: Module, ignored_modules: set[Module], root_kwargs: Options
    ) -> dict[Module, Options]:
        options_by_module = {}
        for module in root_module.modules():
            answer = False if module in ignored_modules else self._lambda_fn(module)
            if not isinstance(answer, bool | dict):
                raise ValueError(
                    f"`lambda_fn` must return False, True or a dict of options, got {answer!r}"
                )
            if answer:
                options_by_module[module] = {
                    **root_kwargs,
                    **(answer if isinstance(answer, dict) else {}),
                }
        return options_by_module


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the modules for which a function is true."""
    return recurse or lambda_fn(module)


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]
) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[Module]],
) -> bool:
    """Wrap the modules of some classes."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]
) -> bool:
    """Wrap the modules that one of several policies chooses."""
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wrap modules with many parameters that no module below them has wrapped.

    Args:
        module: the module.
        recurse: whether the question is if modules below may be wrapped.
        nonwrapped_numel: the number of elements that are not wrapped yet.
        min_num_params: the least number that is wrapped.
        force_leaf_modules: classes below which nothing is wrapped, by default attention.
        exclude_wrap_modules: classes that are never wrapped, by default lists and dictionaries.
    """
    leaves = tuple({MultiheadAttention} if force_leaf_modules is None else force_leaf_modules)
    excluded = tuple(
        {ModuleList, ModuleDict} if exclude_wrap_modules is None else exclude_wrap_modules
    )
    if nonwrapped_numel < min_num_params:
        return False
    return not isinstance(module, leaves if recurse else excluded)


vars(size_based_auto_wrap_policy).update(
    FORCE_LEAF_MODULES={MultiheadAttention}, EXCLUDE_WRAP_MODULES={ModuleList, ModuleDict}
)


class _Wrapping:
    """The wrapper of a block of `enable_wrap`, and its options."""

    wrapper: Callable[..., Module] | None = None
    options: ClassVar[Options] = {}


@contextmanager
def enable_wrap(*, wrapper_cls: Callable[..., Module], **wrapper_kwargs: Any) -> Iterator[None]:
    """Enable `wrap` in a block.

    Args:
        wrapper_cls: the wrapper.
        wrapper_kwargs: its options.
    """
    before = _Wrapping.wrapper, _Wrapping.options
    _Wrapping.wrapper, _Wrapping.options = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Wrapping.wrapper, _Wrapping.options = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Return a module wrapped as `enable_wrap` says; outside of its blocks the module itself."""
    if _Wrapping.wrapper is None:
        return module
    return _Wrapping.wrapper(module, **{**_Wrapping.options, **wrap_overrides})


def wrap_children(
    root: Module,
    policy: Any,
    wrapper: Callable[..., Module],
    ignored: set[Module],
    options: Options,
) -> None:
    """Wrap the modules below a root that a policy chooses, the innermost first.

    Args:
        root: the module.
        policy: a `_Policy` or a function of `module`, `recurse` and `nonwrapped_numel`.
        wrapper: what wraps a module.
        ignored: modules that are not wrapped.
        options: options of the wrapper.
    """
    if isinstance(policy, _Policy):
        options_by_module = policy._run_policy(root, ignored, options)
        options_by_module.pop(root, None)
        wrap_modules(root, options_by_module, wrapper)
    else:
        _recursive_wrap(
            root, policy, partial(wrapper, **options), ignored, set(), only_wrap_children=True
        )


def wrap_modules(
    root: Module,
    options_by_module: dict[Module, Options],
    wrapper: Callable[..., Module],
    done: dict[Module, Module] | None = None,
) -> None:
    """Wrap modules below a root, each once.

    Args:
        root: the module.
        options_by_module: the modules that are wrapped, with the options of each.
        wrapper: what wraps a module.
        done: modules that have been visited, and what takes their place.
    """
    done = {} if done is None else done
    for name, child in list(root._modules.items()):
        if child is None:
            continue
        if child not in done:
            wrap_modules(child, options_by_module, wrapper, done)
            done[child] = (
                wrapper(child, **options_by_module[child]) if child in options_by_module else child
            )
        root._modules[name] = done[child]


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Parameter],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wrap what a policy chooses; return the module and how many elements below are wrapped."""
    count = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    wrapped = 0
    for name, child in list(module.named_children()):
        if child not in ignored_modules:
            module._modules[name], below = _recursive_wrap(
                child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
            )
            wrapped += below
    rest = count - wrapped
    if not only_wrap_children and auto_wrap_policy(
        module=module, recurse=False, nonwrapped_numel=rest
    ):
        return wrapper_cls(module, **kwargs), count
    return module, wrapped


__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]
