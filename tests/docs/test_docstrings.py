"""The documentation of every public name can be read by what makes the reference's pages of it."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.distributed.launching import ROOT

pytest.importorskip("sphinx", reason="make venv")

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, roles
from docutils.utils import new_document
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

sys.path[:0] = [str(ROOT / "docs" / "extensions"), str(ROOT / "tools")]

from entries import entries, modules  # noqa: E402

ROLES = ("attr", "class", "doc", "func", "meth", "mod", "obj", "ref")
DOCUMENTED = (type, property, classmethod, staticmethod)


def documented() -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, path and object of what has pages, and of its members."""
    for module in modules():
        for entry in entries(module):
            is_class = isinstance(entry.value, type)
            yield "class" if is_class else "function", entry.path, entry.value
            for name, value in vars(entry.value).items() if is_class else ():
                if not name.startswith("_") and (callable(value) or isinstance(value, DOCUMENTED)):
                    yield "method", f"{entry.path}.{name}", value


def complaints(kind: str, text: str) -> str:
    """The complaints of docutils about a docstring in Google's style."""
    config = Config(
        napoleon_google_docstring=True,
        napoleon_use_ivar=True,
        napoleon_custom_sections=[("Shape", "params_style")],
    )
    source = "\n".join(GoogleDocstring(text, config, what=kind).lines())
    settings = get_default_settings(Parser)
    settings.report_level, settings.warning_stream = 2, io.StringIO()
    settings.syntax_highlight = "none"
    Parser().parse(source, new_document("docstring", settings))
    return settings.warning_stream.getvalue()


def test_docstrings_parse(sample, monkeypatch):
    for role in ROLES:
        monkeypatch.setitem(roles._roles, role, roles.GenericRole(role, nodes.literal))
    found = {inspect.getdoc(value): (kind, path) for kind, path, value in documented()}
    texts = [text for text in found if text]
    chosen = sample.choose(texts, 400, "docstrings")
    wrong = {found[text][1]: said for text in chosen if (said := complaints(found[text][0], text))}
    assert wrong == {}


def test_a_list_of_names_over_two_lines_is_found():
    text = "Do it.\n\nArgs:\n    one, two,\n        three: accepted.\n"
    assert "WARNING" in complaints("function", text)


def test_pages_show_signatures():
    """Exceptions have those of Python's, which have none."""
    callables = [
        entry
        for module in modules()
        for entry in entries(module)
        if callable(entry.value)
        and not (isinstance(entry.value, type) and issubclass(entry.value, BaseException))
    ]
    assert [entry.path for entry in callables if entry.signature == "(...)"] == []
    layers = [entry for entry in callables if isinstance(entry.value, type)]
    layers = [entry for entry in layers if entry.module == "oneflow.nn"]
    assert {entry.name for entry in layers if "**kwargs" in entry.signature} == {
        "Identity",
        "LazyModuleMixin",
    }
