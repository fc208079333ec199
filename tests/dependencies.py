"""The names of modules that depend on others, statement by statement, as the source tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

# The ends of the names of files of data, which modules read from beside them.
DATA = (".tsv", ".txt")
Symbol = tuple[str, str]
"""A module and a name at its top level."""
PUBLIC_API = "oneflow", "*"
"""Stands for names of the package, except those of modules that are read or of the lowest room."""
LOWEST_ROOM = "oneflow.base"


class Dependencies:
    """The top-level statements of the modules below some folders, and of what these take of tests.

    A statement that mentions a name depends on it. One that calls something of a name, such as
    ``conv.gradient(...)``, is a part of the definition of that name.

    Args:
        root: the repository.
        folders: below it.
    """

    def __init__(self, root: Path, folders: Iterable[str]) -> None:
        self._root = root
        self._modules: dict[str, ast.Module] = {}
        paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
        while paths:
            path = paths.pop()
            module = module_name(path.relative_to(root).as_posix())
            if module not in self._modules:
                self._modules[module] = ast.parse(path.read_text(encoding="utf-8"))
                paths += self._tests_imported(self._modules[module])
        self._symbols: set[Symbol] = set()
        self._dependents: dict[Symbol, set[Symbol]] = {}
        for module, tree in self._modules.items():
            self._read(module, tree)

    def _tests_imported(self, tree: ast.Module) -> Iterator[Path]:
        """Return the files of tests that a module imports from."""
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                source = statement.module
                if f"{source}.".startswith("tests."):
                    modules = [source, *(f"{source}.{alias.name}" for alias in statement.names)]
                    files = (self._root / f"{name.replace('.', '/')}.py" for name in modules)
                    yield from (file for file in files if file.exists())

    def _read(self, module: str, tree: ast.Module) -> None:
        imported: dict[str, Symbol] = {}
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    symbol = self._imported(module, statement.module, alias.name)
                    imported[alias.asname or alias.name] = symbol
            elif isinstance(statement, ast.Import) and module.startswith("tests."):
                for alias in statement.names:
                    if _is_above_base(alias.name):
                        imported[alias.asname or alias.name.partition(".")[0]] = PUBLIC_API
            defined = {(module, name) for name in defined_names(statement)}
            self._symbols |= defined
            for used in self._used(module, statement, imported):
                self._dependents.setdefault(used, set()).update(defined)

    def _imported(self, module: str, source: str, name: str) -> Symbol:
        """Return the symbol that a module imports from another."""
        is_read = source in self._modules or f"{source}.{name}" in self._modules
        if module.startswith("tests.") and _is_above_base(source) and not is_read:
            return PUBLIC_API
        return source, name

    def _used(
        self, module: str, statement: ast.stmt, imported: Mapping[str, Symbol]
    ) -> Iterator[Symbol]:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                yield imported.get(node.id, (module, node.id))
                yield module, imported_name(node.id)
            elif isinstance(node, ast.arg) and module.startswith("tests."):
                # It may be the name of a fixture.
                yield imported.get(node.arg, (module, node.arg))
            elif isinstance(node, ast.Constant) and str(node.value).endswith(DATA):
                yield module.rpartition(".")[0], node.value
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = imported.get(node.value.id)
                if owner is not None and ".".join(owner) in self._modules:
                    yield ".".join(owner), node.attr

    def symbols(self) -> Iterator[Symbol]:
        """All names that statements define."""
        yield from self._symbols

    def dependents(self, changed: Mapping[str, Iterable[str]]) -> set[Symbol]:
        """The names that depend on changed ones, which are given by path, and on files of data."""
        return self.dependents_of(
            symbol for path, names in changed.items() for symbol in _symbols_in(path, names)
        )

    def dependents_of(self, symbols: Iterable[Symbol]) -> set[Symbol]:
        """Some names, as far as they are still defined, and those that depend on them."""
        found: set[Symbol] = set()
        pending = list(symbols)
        while pending:
            symbol = pending.pop()
            if symbol not in found:
                found.add(symbol)
                pending += self._dependents.get(symbol, ())
        return found & self._symbols


def _is_above_base(module: str) -> bool:
    return f"{module}.".startswith("oneflow.") and not f"{module}.".startswith(f"{LOWEST_ROOM}.")


def _symbols_in(path: str, names: Iterable[str]) -> Iterator[Symbol]:
    """The symbols of names in a file; of a file of data its name, in the package beside it."""
    module = module_name(path)
    if path.endswith(DATA):
        folder, _, name = path.rpartition("/")
        yield module_name(folder), name
    yield from ((module, name) for name in names)


def module_name(path: str) -> str:
    """The module in a file below the repository."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def defined_names(statement: ast.stmt) -> set[str]:
    """The names at the top level that a statement defines, or completes the definition of."""
    if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_"):
        return {statement.name}  # It takes cases, and adds nothing to what decorates it.
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        decorated = [_names(decorator) for decorator in statement.decorator_list]
        return {statement.name}.union(*decorated)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return set().union(*map(_names, targets))
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {imported_name(alias.asname or alias.name) for alias in statement.names}
    return _names(statement)


def imported_name(name: str) -> str:
    """The symbols of an imported name, beside the name in the module that it comes from."""
    return f"import {name}"


def _names(node: ast.AST) -> set[str]:
    """The names in a node, those within functions apart."""
    if isinstance(node, ast.Lambda | ast.FunctionDef):
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    return set().union(*map(_names, ast.iter_child_nodes(node)))
