"""Texts of files and requests, made safe to show: on a terminal and in documents."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return `text` with escapes for what does not show: a terminal would obey it, XML forbids it.

    Line breaks and tabs stay.

    Example:
        >>> from oneflow.base.printable import printable
        >>> printable("a name \x1b[2J")
        'a name \\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
