"""Modules' classes and functions in files: their names. No code is stored.

A file that names a class can only be loaded where the program has imported it already, but for
layers: only `oneflow.nn` is imported for a file.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from oneflow.functional.registry import FUNCTIONS
from oneflow.module.hooks import Hooks
from oneflow.module.module import Module


def name_of_class(kind: type[Module]) -> list[str]:
    """Return the module and the qualified name by which `class_named` finds `kind`.

    Raises:
        TypeError: it is defined in a function, or hidden by something else of its name.
    """
    name = [kind.__module__, kind.__qualname__]
    if _lookup(*name) is not kind:
        raise TypeError(
            f"cannot save a {'.'.join(name)}: files name classes, and this one is not found by its "
            "name; define it at the top of a module, or save the `state_dict()`"
        )
    return name


def class_named(module: str, qualified: str) -> type[Module]:
    """Return the class of modules that a file names.

    Raises:
        ValueError: the program has not imported it, or it is not a class of modules.
    """
    cls = _lookup(module, qualified)
    if cls is None:
        raise ValueError(
            f"it holds a {module}.{qualified}, which this program has not imported; do so before "
            "loading"
        )
    if not (isinstance(cls, type) and issubclass(cls, Module)):
        raise ValueError(f"{module}.{qualified} is not a class of modules")
    return cls


def _lookup(module: str, qualified: str) -> Any:
    _import_layers(module.removeprefix("oneflow."))
    content: Any = sys.modules.get(module)
    for part in qualified.split("."):
        content = (
            vars(content).get(part)
            if content is not None and hasattr(content, "__dict__")
            else None
        )
    return content


def attributes_of(module: Module, path: str) -> dict[str, Any]:
    """Return what makes up a module beside its class.

    Raises:
        TypeError: it has hooks, which are code.
    """
    attributes = vars(module)
    if hooks := _hooks_of(module):
        raise TypeError(
            f"cannot save {path or 'the object'}: it has {', '.join(hooks)}, which are code; save "
            "its `state_dict()` instead"
        )
    return {
        name: attribute
        for name, attribute in attributes.items()
        if not isinstance(attribute, Hooks)
    }


def has_code(module: Module) -> bool:
    """Return whether names do not say all of a module: it has hooks, or a class without a name."""
    return any(
        _hooks_of(part) or _lookup(type(part).__module__, type(part).__qualname__) is not type(part)
        for part in module.modules()
    )


def _hooks_of(module: Module) -> list[str]:
    """The names of the hooks that are registered."""
    return [name for name, value in vars(module).items() if isinstance(value, Hooks) and value]


def empty_module(kind: type[Module]) -> Module:
    """Return a module that has no attributes yet; its class's `__init__` does not run."""
    module = kind.__new__(kind)
    Module.__init__(module)
    return module


def name_of_function(value: Any) -> str | None:
    """Return the public name of a function of this package; None for anything else."""
    return next((name for name, function in FUNCTIONS.items() if function is value), None)


def function_named(name: str) -> Callable[..., Any]:
    """Return the public function of this package that a file names.

    Raises:
        ValueError: there is none.
    """
    _import_layers(name)
    if name not in FUNCTIONS:
        raise ValueError(f"there is no function oneflow.{name}")
    return FUNCTIONS[name]


def _import_layers(path: str) -> None:
    """Import `oneflow.nn` if `path` is in it: this program may have named no layer yet."""
    if path.startswith("nn."):
        importlib.import_module("oneflow.nn")
