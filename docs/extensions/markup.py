"""Pieces of reStructuredText, in which the generated pages are written.

Directives of autodoc within Markdown would be parsed as documents of their own, each of which
Sphinx stores with all that it knows of the other pages.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def heading(title: str) -> str:
    """Return the title of a page that no table of contents lists.

    A list of thousands in every sidebar would make each page slow.
    """
    text = title.replace("_", "\\_")  # a word that ends in one would be a link
    return f":orphan:\n\n{text}\n{'=' * len(text)}\n"


def directive(kind: str, argument: str = "", body: str = "", option: str = "") -> str:
    """Return a directive with its body.

    Args:
        kind: its name.
        argument: what stands in its first line.
        body: what stands below, unindented.
        option: an option with its value, as ``:header-rows: 1``.
    """
    head = f".. {kind}:: {argument}".rstrip()
    below = f"{option}\n\n{body}" if option else f"\n{body}"
    return f"{head}\n{textwrap.indent(below, '   ')}\n"


def table(*rows: Iterable[str]) -> str:
    """Return a table; the first of its rows is the header."""
    lines = "".join(
        f"{'  ' if column else '* '}- {cell}".rstrip() + "\n"
        for row in rows
        for column, cell in enumerate(row)
    )
    return directive("table-of-lines", body=lines)


def from_markdown(text: str) -> str:
    """Return a line of Markdown, of a page in `docs/`, as reStructuredText: code and links."""
    text = text.replace("*", "\\*").replace("`", "``")
    return _LINK.sub(lambda found: _link(*found.groups()), text)


def _link(text: str, target: str) -> str:
    page, suffix, _ = target.partition(".md")
    return f":doc:`{text} </{page}>`" if suffix else f"`{text} <{target}>`__"
