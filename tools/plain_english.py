"""Find loops and comments that do not say what they are about.

A loop variable is named after one element (`for tensor in tensors`), never `each`. A comment or
docstring is a sentence with the noun of its subject: it does not open with one of `OPENERS`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

OPENERS = ("What", "Of", "Those", "That", "By", "Whether", "How", "Where", "Which")

_OPENING = re.compile(rf"\s*(?:#|r?\"\"\")\s*({'|'.join(OPENERS)}) ")


def unclear_lines(path: Path, source: str) -> Iterator[str]:
    """Describe each loop variable and each opening that breaks a rule."""
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if isinstance(node, ast.Name) and node.id == "each" and isinstance(node.ctx, ast.Store):
            yield f"{path}:{node.lineno}: name the variable `each` after the thing that it holds"
    before = ""
    for number, line in enumerate(source.splitlines(), 1):
        opening = None if before.lstrip().startswith("#") else _OPENING.match(line)
        if opening is not None:
            yield f"{path}:{number}: open with the subject's noun in place of `{opening[1]}`"
        before = line
