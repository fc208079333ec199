"""The navigation beside the pages: computed once for each folder, and marked for each page.

Sphinx and the theme compute it for each page, which takes a tenth of the time that the
documentation needs. `tests/docs/test_work_once.py` compares it with theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_Tag = re.Match[str]
_TAG = re.compile(r"<(/?)(ul|li|input|a(?= ))\b[^>]*>")
# A page that no list names, so that no entry is marked.
_NO_PAGE = "-"


def marked(tree: str, page: str) -> str:
    """Return the theme's navigation with the entry of a page open and marked as the current one.

    Args:
        tree: the navigation as a page of the same folder has it that is no entry.
        page: the last part of the page's name.
    """
    opened, boxes, link = _way_to(tree, page)
    if link is None:
        return tree
    edits = {link: '<a class="current reference internal" href="#">'}
    for tag in opened:
        if tag[2] == "ul":
            edits[tag] = '<ul class="current">'
        else:
            edits[tag] = re.sub(r"(toctree-l\d+)", r"\1 current", tag[0])
    for box in boxes:
        edits[box] = box[0].replace(" class=", ' checked="" class=')
    item = opened[-1]
    edits[item] = edits[item].replace('">', ' current-page">')
    parts, end = [], 0
    for tag in sorted(edits, key=lambda tag: tag.start()):
        parts += [tree[end : tag.start()], edits[tag]]
        end = tag.end()
    return "".join([*parts, tree[end:]])


def _way_to(tree: str, page: str) -> tuple[list[_Tag], list[_Tag], _Tag | None]:
    """The lists and items around the link to a page, the items' boxes, and the link, if any."""
    opened: list[_Tag] = []
    boxes: dict[int, _Tag] = {}  # by the depth
    link = None
    for tag in _TAG.finditer(tree):
        closes, kind = tag.groups()
        if link and kind != "input":
            break
        if kind == "input":
            boxes[len(opened)] = tag
        elif kind == "a":
            link = tag if f' href="{page}.html"' in tag[0] else None
        elif closes:
            boxes.pop(len(opened), None)
            opened.pop()
        else:
            opened.append(tag)
    return opened, [*boxes.values()], link


def share(app: Sphinx, page_name: str, _: str, context: dict[str, Any], __: object) -> None:
    """Give the theme the navigation of a page's folder: links are the same for all pages there."""
    folder, slash, _ = page_name.rpartition("/")
    builder: Any = app.builder

    def of_folder(**options: Any) -> str:
        key = (folder, *sorted(options.items()))
        if key not in _NAVIGATION:
            _NAVIGATION[key] = builder._get_local_toctree(f"{folder}{slash}{_NO_PAGE}", **options)
        return _NAVIGATION[key]

    context["toctree"] = of_folder


# The HTML by the folder and the options of Sphinx's `toctree`.
_NAVIGATION: dict[tuple, str] = {}


def mark(_: Sphinx, page_name: str, __: str, context: dict[str, Any], ___: object) -> None:
    """Mark the page in what the theme made of it."""
    page = page_name.rpartition("/")[2]
    context["furo_navigation_tree"] = marked(context["furo_navigation_tree"], page)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    # Before the theme asks for it, and after.
    app.connect("html-page-context", share, priority=100)
    app.connect("html-page-context", mark, priority=900)
    return {"parallel_read_safe": True}
