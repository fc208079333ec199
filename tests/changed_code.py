"""Statements of a Python file whose code has changed; comments and docstrings do not count."""

from __future__ import annotations

import ast
from collections import Counter

from tests.dependencies import defined_names, imported_name


def changed_names(before: str | None, after: str | None) -> frozenset[str] | None:
    """Return the names that top-level statements define whose code has changed.

    Args:
        before: the text of the file as it was; None for a new file.
        after: its text now; None for a file that is gone.

    Returns:
        The names, also of what is gone; None if no code has changed.
    """
    try:
        old, new = _statements(before), _statements(after)
    except SyntaxError:
        return frozenset()
    changed = (old - new) + (new - old)
    if not changed and None not in (before, after):
        return None
    return frozenset(name for names, _ in changed for name in names)


def _statements(text: str | None) -> Counter[tuple[frozenset[str], str]]:
    """Return the statements at the top level, each with the names that it defines and its code.

    An import of several names is as many statements.
    """
    statements: Counter[tuple[frozenset[str], str]] = Counter()
    for statement in ast.parse(text or "").body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            source = ast.dump(statement).partition("names=")[0]
            for alias in statement.names:
                name = imported_name(alias.asname or alias.name)
                statements[frozenset([name]), source + ast.dump(alias)] += 1
        elif not _is_text(statement):
            statements[frozenset(defined_names(statement)), _code(statement)] += 1
    return statements


def _is_text(statement: ast.stmt) -> bool:
    """Return True for a docstring, and for other texts that do nothing."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _code(statement: ast.stmt) -> str:
    """Return what a statement does, as a text that does not depend on its place."""
    for node in ast.walk(statement):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [part for part in body if not _is_text(part)]
    return ast.dump(statement)
