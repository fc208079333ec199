"""The modules that the source of another one imports."""

from __future__ import annotations

import ast
from importlib.util import resolve_name


class _ImportVisitor(ast.NodeVisitor):
    """The imports in a syntax tree, in order: modules, and names that are taken from them."""

    def __init__(self, package: str) -> None:
        self.imports: dict[tuple[str, str | None], None] = {}
        self._package = package

    def visit_Import(self, node: ast.Import) -> None:
        """Add the modules of ``import a, b``."""
        for alias in node.names:
            self.imports[alias.name, None] = None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Add the names of ``from a import b``."""
        module = node.module or ""
        if node.level:
            module = resolve_name("." * node.level + module, self._package)
        for alias in node.names:
            self.imports[module, None if alias.name == "*" else alias.name] = None

    def visit_Call(self, node: ast.Call) -> None:
        """Add the modules of calls of ``__import__`` whose arguments stand there."""
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id != "__import__":
            return
        parameters = ("name", "globals", "locals", "fromlist", "level")
        options: dict[str, ast.expr] = dict(zip(parameters, node.args, strict=False))
        options.update({keyword.arg or "": keyword.value for keyword in node.keywords})
        try:
            name = ast.literal_eval(options["name"])
            level = ast.literal_eval(options["level"]) if "level" in options else 0
            names = ast.literal_eval(options["fromlist"]) if "fromlist" in options else ()
            module = resolve_name("." * level + name, self._package) if level else name
        except (KeyError, TypeError, ValueError, ImportError):
            return  # It is known at run time alone.
        for imported in names or (None,):
            self.imports[module, None if imported == "*" else imported] = None


def find_files_source_depends_on(src: str, package: str) -> list[tuple[str, str | None]]:
    """Return what a source imports: modules, each with the name that is taken from it or None.

    Args:
        src: the source.
        package: the package that it belongs to, for relative imports.

    Raises:
        SyntaxError: it is no Python.
        ImportError: a relative import leaves the package.

    Example:
        >>> from oneflow.mock_torch.pytorch.package import find_file_dependencies
        >>> find_file_dependencies.find_files_source_depends_on("from .a import b", "model")
        [('model.a', 'b')]
    """
    visitor = _ImportVisitor(package)
    visitor.visit(ast.parse(src))
    return list(visitor.imports)
