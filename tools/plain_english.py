"""Find names and comments that do not say what they are about.

A loop variable is named after one element (`for tensor in tensors`), never `each`. A variable or
parameter of the packages is named after the thing that it holds, not after what happened to it
(`NAMELESS`). A comment or docstring is a sentence with the noun of its
subject: it does not open with one of `OPENERS`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

OPENERS = ("What", "Of", "Those", "That", "By", "Whether", "How", "Where", "Which")

# Participles: they say of everything that a function finds, takes or returns the same.
NAMELESS = frozenset({"found", "given", "chosen", "kept", "known", "wanted"})

_OPENING = re.compile(rf"\s*(?:#|r?\"\"\")\s*({'|'.join(OPENERS)}) ")


def _bound_name(node: ast.AST) -> str | None:
    """The name that a node gives to a value, if it does."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.arg if isinstance(node, ast.arg) else None


def unclear_lines(path: Path, source: str) -> Iterator[str]:
    """Describe each loop variable and each opening that breaks a rule."""
    for node in ast.walk(ast.parse(source, filename=str(path))):
        name = _bound_name(node)
        if name == "each" or (name in NAMELESS and path.parts[0] == "src"):
            line = getattr(node, "lineno", 1)
            yield f"{path}:{line}: name the variable `{name}` after the thing that it holds"
    before = ""
    for number, line in enumerate(source.splitlines(), 1):
        opening = None if before.lstrip().startswith("#") else _OPENING.match(line)
        if opening is not None:
            yield f"{path}:{number}: open with the subject's noun in place of `{opening[1]}`"
        before = line
