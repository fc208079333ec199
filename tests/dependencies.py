"""The names of modules that depend on others, statement by statement, as the source tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

Symbol = tuple[str, str]
"""A module and a name at its top level."""


class Dependencies:
    """The top-level statements of the modules below some folders.

    A statement that mentions a name depends on it. One that calls something of a name, such as
    ``conv.gradient(...)``, is a part of the definition of that name.

    Args:
        root: the repository.
        folders: below it.
    """

    def __init__(self, root: Path, folders: Iterable[str]) -> None:
        self._root = root
        self._modules = {
            _module_name(path.relative_to(root).as_posix()): path
            for folder in folders
            for path in sorted((root / folder).rglob("*.py"))
        }
        # The names that a statement defines, its first and last line by module.
        self._statements: dict[str, list[tuple[set[Symbol], int, int]]] = {}
        self._dependents: dict[Symbol, set[Symbol]] = {}
        for module, path in self._modules.items():
            self._read(module, ast.parse(path.read_text(encoding="utf-8")))

    def _read(self, module: str, tree: ast.Module) -> None:
        imported: dict[str, Symbol] = {}
        statements = self._statements.setdefault(module, [])
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    imported[alias.asname or alias.name] = statement.module, alias.name
            defined = {(module, name) for name in _defined(statement)}
            first = min(
                [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))]
            )
            statements.append((defined, first, statement.end_lineno or first))
            for used in self._used(module, statement, imported):
                self._dependents.setdefault(used, set()).update(defined)

    def _used(
        self, module: str, statement: ast.stmt, imported: Mapping[str, Symbol]
    ) -> Iterator[Symbol]:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                yield imported.get(node.id, (module, node.id))
                yield module, _imported(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = imported.get(node.value.id)
                if owner is not None and ".".join(owner) in self._modules:
                    yield ".".join(owner), node.attr

    def symbols(self) -> Iterator[Symbol]:
        """All names that statements define."""
        for statements in self._statements.values():
            for defined, _, _ in statements:
                yield from defined

    def dependents(self, changed: Mapping[str, Iterable[int]]) -> set[Symbol]:
        """The names that depend on changed lines, which are given by path."""
        first: set[Symbol] = set()
        for path, numbers in changed.items():
            for defined, start, end in self._statements.get(_module_name(path), ()):
                if any(start <= number <= end for number in numbers):
                    first |= defined
        return self.dependents_of(first)

    def dependents_of(self, symbols: Iterable[Symbol]) -> set[Symbol]:
        """Some names and those that depend on them."""
        found: set[Symbol] = set()
        pending = list(symbols)
        while pending:
            symbol = pending.pop()
            if symbol not in found:
                found.add(symbol)
                pending += self._dependents.get(symbol, ())
        return found


def _module_name(path: str) -> str:
    """The module in a file below the repository."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _defined(statement: ast.stmt) -> set[str]:
    """The names at the top level that a statement defines, or completes the definition of."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        decorated = [_names(decorator) for decorator in statement.decorator_list]
        return {statement.name}.union(*decorated)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return set().union(*map(_names, targets))
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {_imported(alias.asname or alias.name) for alias in statement.names}
    return _names(statement)


def _imported(name: str) -> str:
    """The symbols of an imported name, beside the name in the module that it comes from."""
    return f"import {name}"


def _names(node: ast.AST) -> set[str]:
    """The names in a node, those within functions apart."""
    if isinstance(node, ast.Lambda | ast.FunctionDef):
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return set().union(*map(_names, ast.iter_child_nodes(node)))
