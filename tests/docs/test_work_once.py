"""Pages are the same when the work that they share is done once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.changes import ROOT

pytest.importorskip("sphinx", reason="make venv")

EXTENSIONS = ROOT / "docs" / "extensions"
PAGES = {
    "index": """
Index
=====

.. toctree::

   first
   folder/second

.. toctree::

   folder/third

:doc:`first` comes before :ref:`the second <second>`.
""",
    "first": """
First
=====

.. autoclass:: textwrap.TextWrapper
   :members:

.. autofunction:: json.dumps

.. code-block:: pycon

   >>> 1 + 1
   2

- an item

  1. one *within*, of `code`
  2. another, with a note [#]_

     :name: a field

       of some text

.. [#] The note.
""",
    "folder/second": """
.. _second:

Second
======

.. toctree::

   fourth

.. py:function:: shared(value: int, *rest: str) -> list[int]

   Uses :func:`json.dumps`.

   :param value: a number
   :returns: numbers

.. code-block:: pycon

   >>> 1 + 1
   2

========  =====
name      value
========  =====
a         ``1``
b         |c|
========  =====

.. |c| replace:: a *substitution*

.. include:: part.txt

.. note::

   A term
      its meaning
""",
    "folder/third": "Third\n=====\n",
    "folder/fourth": "Fourth\n======\n",
    "folder/fifth": ":orphan:\n\nFifth\n=====\n",
}


def build(source: Path, out: Path, extensions: str) -> dict[str, bytes]:
    settings = ["-D", f"extensions={extensions}", "-D", "html_theme=furo"]
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-C", *settings, source, out],
        check=True,
        env={**os.environ, "PYTHONPATH": str(EXTENSIONS)},
    )
    files = [*out.rglob("*.html"), out / "searchindex.js", out / "objects.inv"]
    return {file.relative_to(out).as_posix(): file.read_bytes() for file in files}


def test_pages_are_the_same(tmp_path: Path):
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True)
    for name, text in PAGES.items():
        (source / f"{name}.rst").write_text(text, encoding="utf-8")
    (source / "folder" / "part.txt").write_text("Text of *another file*.\n", encoding="utf-8")
    plain = build(source, tmp_path / "plain", "sphinx.ext.autodoc")
    once = build(source, tmp_path / "once", "sphinx.ext.autodoc,work_once,navigation")
    assert once == plain
    assert b"json.dumps" in once["first.html"]
    assert b"another file" in once["folder/second.html"]
    assert b"current-page" in once["folder/fourth.html"]


def test_a_page_depends_on_what_it_includes(tmp_path: Path):
    """Lists of the settings, as that of the files that a page reads, are not shared."""
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    (source / "index.rst").write_text("Index\n=====\n\n.. include:: part.txt\n", encoding="utf-8")
    for text in ("Before", "After"):
        (source / "part.txt").write_text(f"{text}.\n", encoding="utf-8")
        os.utime(source / "part.txt", (2e9, 2e9 if text == "After" else 1e9))
        assert text.encode() in build(source, out, "work_once")["index.html"]
