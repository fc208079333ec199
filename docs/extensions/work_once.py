"""Sphinx and docutils do work anew for each page whose result is the same for all: once here.

The pages are the same without it, and take a third longer. It replaces functions of docutils 0.22
and Sphinx 9, some of which are internal; `tests/docs/test_work_once.py` builds pages both ways.
"""

from __future__ import annotations

import copy
import gc
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from docutils import nodes, statemachine
from docutils.utils import DependencyList
from sphinx.pycode.parser import Parser
from sphinx.util import docutils
from sphinx.util.logging import NAMESPACE

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_compute_settings = docutils._get_settings
# The defaults and the settings that come of them, by the parts of docutils that have settings.
_settings: dict[tuple, tuple[dict[str, Any], Any]] = {}
_make_transitions = statemachine.StateWS.add_initial_transitions
# Order, and pattern, method's name and next state of transitions by name, by the class of states.
_transitions: dict[type, tuple[list[str], list[tuple[str, Any, str, str]]]] = {}


def settings(*components: Any, defaults: Mapping[str, Any], **options: Any) -> Any:
    """Return docutils' settings, which come of 80 options of a command line that nobody gives."""
    kinds = tuple([part if isinstance(part, type) else type(part) for part in components])
    key = (kinds, *options.items())
    known = _settings.get(key)
    if known is None or known[0] != defaults:
        values = _compute_settings(*components, defaults=defaults, **options)
        known = _settings[key] = (dict(defaults), values)
    values = copy.copy(known[1])
    for name, value in vars(values).items():
        if isinstance(value, list | dict):
            setattr(values, name, copy.copy(value))
    values.record_dependencies = DependencyList()  # of this page
    return values


def add_initial_transitions(state: Any) -> None:
    """Add the transitions of a state's class: a parser of nested text has 13 states."""
    kind = type(state)
    if kind not in _transitions:
        _make_transitions(state)
        _transitions[kind] = (
            list(state.transition_order),
            [
                (name, pattern, method.__name__, next_state)
                for name, (pattern, method, next_state) in state.transitions.items()
            ],
        )
        return
    order, rows = _transitions[kind]
    state.transition_order = list(order)
    state.transitions = {
        name: (pattern, getattr(state, method), next_state)
        for name, pattern, method, next_state in rows
    }


def find_instances(node: Any, kind: type) -> Iterator[Any]:
    """Yield the nodes of a class in a tree, without a generator for every node."""
    remaining = [node]
    while remaining:
        node = remaining.pop()
        if isinstance(node, kind):
            yield node
        remaining += node.children[::-1]


def share_highlighting(app: Sphinx) -> None:
    """Highlight an example once: a function's is on the pages of all of its names."""
    highlighter: Any = getattr(app.builder, "highlighter", None)
    if highlighter is None:  # the builder writes no HTML
        return
    highlight = highlighter.highlight_block
    blocks: dict[tuple, str] = {}

    def highlight_block(
        source: str, lang: str, opts: Any = None, force: bool = False, **options: Any
    ) -> str:
        location = options.pop("location", None)
        key = (source, lang, force, repr(opts), repr(options))
        if key not in blocks:
            blocks[key] = highlight(source, lang, opts, force, location, **options)
        return blocks[key]

    highlighter.highlight_block = highlight_block


def leave_the_past_alone(_: Sphinx) -> None:
    """Let the garbage collector look at what pages make, not at all modules and programs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    replacements: list[tuple[Any, str, Any]] = [
        (docutils, "_get_settings", settings),
        (statemachine.StateWS, "add_initial_transitions", add_initial_transitions),
        (nodes.Node, "_fast_findall", find_instances),
        # The places of definitions in files: only `literalinclude` of an object asks for them.
        (Parser, "parse_definition", lambda _: None),
    ]
    for owner, name, function in replacements:
        setattr(owner, name, function)
    if not app.verbosity:
        # Sphinx writes messages for all handlers first, and these then drop them.
        logging.getLogger(NAMESPACE).setLevel(logging.INFO)
    app.connect("builder-inited", share_highlighting)
    # After the reference has been written.
    app.connect("builder-inited", leave_the_past_alone, priority=900)
    return {"parallel_read_safe": True}
