"""Statements of a Python file whose code has changed; comments and docstrings do not count."""

from __future__ import annotations

import ast
import functools
import itertools
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
        old, new = Counter(_statements(before or "")), Counter(_statements(after or ""))
    except SyntaxError:
        return frozenset()
    # Most statements have the same text, and need not be looked at.
    old_code, new_code = (
        Counter(itertools.chain.from_iterable(map(_definitions, texts.elements())))
        for texts in (old - new, new - old)
    )
    changed = (old_code - new_code) + (new_code - old_code)
    if not changed and None not in (before, after):
        return None
    return frozenset(name for names, _ in changed for name in names)


# Files, and statements, have the same text on many of the commits that are compared.
@functools.cache
def _statements(text: str) -> tuple[str, ...]:
    """Return the texts of the statements at the top level, decorators included.

    Statements that share a line are one text.
    """
    lines = text.split("\n")
    statements: list[str] = []
    end = 0
    for statement in ast.parse(text).body:
        decorators = getattr(statement, "decorator_list", ())
        start = min(node.lineno for node in (statement, *decorators)) - 1
        if start >= end:
            end = statement.end_lineno or start + 1
            statements.append("\n".join(lines[start:end]))
    return tuple(statements)


@functools.cache
def _definitions(text: str) -> tuple[tuple[frozenset[str], str], ...]:
    """Return the code of statements, with the names that each defines.

    An import of several names is as many definitions.
    """
    definitions: list[tuple[frozenset[str], str]] = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            source = ast.dump(statement).partition("names=")[0]
            for alias in statement.names:
                name = imported_name(alias.asname or alias.name)
                definitions.append((frozenset([name]), source + ast.dump(alias)))
        elif not _is_text(statement):
            definitions.append((frozenset(defined_names(statement)), _code(statement)))
    return tuple(definitions)


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
