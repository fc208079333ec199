"""The annotations of generated type stubs."""

from __future__ import annotations

import builtins
import inspect
import re
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar


def source(name: str) -> str:
    """The text of an imported module."""
    return inspect.getsource(sys.modules[name])


class Annotations:
    """The annotations of a stub and the imports that they need.

    Args:
        is_shadowed: tells which builtins have another meaning in the stub.

    Attributes:
        imports: names to import by module.
    """

    def __init__(self, is_shadowed: Callable[[str], bool]) -> None:
        self._is_shadowed = is_shadowed
        self.imports: dict[str, set[str]] = defaultdict(set)
        self.imports["collections.abc"].add("Callable")
        self.imports["typing"] |= {"Any", "overload"}

    def text(self, written: Any, namespace: Mapping[str, Any]) -> str:
        """An annotation as the stub can write it: `Any` if it names what cannot be imported.

        Args:
            written: the annotation, a string.
            namespace: the globals of the module that it was written in.
        """
        if not isinstance(written, str):
            return "Any"
        names = set(re.findall(r"(?<![.\w'\"])[A-Za-z_]\w*", written)) - {"None", "Tensor", "np"}
        homes = {name: self._home(name, namespace) for name in names if not hasattr(builtins, name)}
        if None in homes.values():
            return "Any"
        for name, home in homes.items():
            self.imports[str(home)].add(name)
        return re.sub(
            r"(?<![.\w])[a-z]+\b",
            lambda name: f"builtins.{name[0]}" if self._is_shadowed(name[0]) else name[0],
            written,
        )

    @staticmethod
    def _home(name: str, namespace: Mapping[str, Any]) -> str | None:
        """The module to import `name` from, or None."""
        target = namespace.get(name)
        if target is None or isinstance(target, TypeVar):
            return None
        if isinstance(target, types.ModuleType):
            return target.__name__.rpartition(".")[0]
        if getattr(target, "__name__", None) == name:
            return target.__module__
        # A name for a longer annotation, defined where it is assigned.
        definition = re.compile(rf"^{name}(: TypeAlias)? = ", re.MULTILINE)
        homes = (
            home
            for home, loaded in sys.modules.items()
            if home.startswith("oneflow.") and vars(loaded).get(name) is target
        )
        return next((home for home in homes if definition.search(source(home))), None)

    def lines(self) -> list[str]:
        """The import statements."""
        return [
            f"from {name} import {', '.join(sorted(self.imports[name]))}"
            for name in sorted(self.imports)
            if self.imports[name]
        ]


def parameter_list(described: Iterable[tuple[inspect.Parameter, str, str]]) -> list[str]:
    """Return the texts of parameters, with the star before those that are given by keyword.

    Args:
        described: parameters, each with its annotation and its default as text.
    """
    parts, starred = [], False
    for parameter, annotation, default in described:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        given = "" if parameter.default is parameter.empty else f" = {default}"
        parts.append(f"{star}{parameter.name}: {annotation}{given}")
    return parts
