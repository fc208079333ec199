"""The documentation finds what a mention means as Sphinx does, with an index."""

from __future__ import annotations

import builtins
import inspect
import itertools
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.changes import ROOT

pytest.importorskip("sphinx", reason="make venv")
sys.path.extend([str(ROOT / "docs" / "extensions"), str(ROOT / "tools")])
from entries import Entry, entries, modules
from python_domain import IndexedPythonDomain
from sphinx.addnodes import pending_xref
from sphinx.domains.python import ObjectEntry, PythonDomain
from sphinx.util.inspect import signature, stringify_annotation

OBJECTS = {
    "oneflow": "module",
    "oneflow.Tensor": "class",
    "oneflow.Tensor.sum": "method",
    "oneflow.sum": "function",
    "oneflow.nn": "module",
    "oneflow.nn.Linear": "class",
    "oneflow.nn.Linear.sum": "attribute",
    "oneflow.sparse.sum": "function",
    "resum": "function",
}
NAMES = ("sum", "sum()", "Tensor.sum", "nn.Linear", "oneflow.sum", "Linear", "um", "int", "", "nn")


def filled(kind: type[PythonDomain]) -> PythonDomain:
    env: Any = SimpleNamespace(domaindata={})
    domain = kind(env)
    for name, objtype in OBJECTS.items():
        domain.objects[name] = ObjectEntry("page", name, objtype, False)
    return domain


def test_the_same_objects_are_found():
    own, sphinx = filled(IndexedPythonDomain), filled(PythonDomain)
    modules, classes = ("", "oneflow", "oneflow.nn"), ("", "Tensor", "Linear")
    roles, modes = (None, "func", "class", "mod", "obj", "meth"), (0, 1)
    found = 0
    for query in itertools.product(modules, classes, NAMES, roles, modes):
        expected = sphinx.find_obj(None, *query)
        assert own.find_obj(None, *query) == expected, query
        found += bool(expected)
    assert found > 100


def test_objects_that_come_later_are_found():
    domain = filled(IndexedPythonDomain)
    assert domain.find_obj(None, "", "", "later", "func", 1) == []
    domain.objects["oneflow.later"] = entry = ObjectEntry("page", "later", "function", False)
    assert domain.find_obj(None, "", "", "later", "func", 1) == [("oneflow.later", entry)]


# Types of the objects that autodoc's directives register.
KINDS = {
    "autoattribute": "attribute",
    "autoclass": "class",
    "autodata": "data",
    "autofunction": "function",
    "automethod": "method",
}
BUILTIN_TYPES = [name for name, value in vars(builtins).items() if inspect.isclass(value)]


@pytest.fixture(scope="module")
def reference() -> PythonDomain:
    """The names of the whole reference."""
    env: Any = SimpleNamespace(domaindata={})
    domain = IndexedPythonDomain(env)
    for entry in itertools.chain.from_iterable(map(entries, modules())):
        domain.objects[entry.path] = ObjectEntry("page", "", KINDS[entry.directive], False)
        members = vars(entry.value) if isinstance(entry.value, type) else {}
        for name in members:
            if not name.startswith("_"):
                path = f"{entry.path}.{name}"
                domain.objects.setdefault(path, ObjectEntry("page", "", "attribute", False))
    return domain


def link(domain: PythonDomain, module: str, mention: str, role: str = "class") -> object:
    node = pending_xref(refspecific=True, **{"py:module": module})
    builder: Any = SimpleNamespace(get_relative_uri=lambda *pages: "")
    env: Any = None
    return domain.resolve_xref(env, "page", builder, role, mention, node, node)


def test_mentions_of_python_types_are_no_links(reference: PythonDomain):
    """`oneflow.float` and `dtype.type` are other things than `float` and `type`."""
    linked = [
        query
        for query in itertools.product(modules(), BUILTIN_TYPES, ("class", "obj", "exc"))
        if link(reference, *query) is not None
    ]
    assert linked == []
    assert link(reference, "oneflow.nn", "oneflow.float") is not None
    assert link(reference, "oneflow.nn", "Linear") is not None


def mentions_of(entry: Entry) -> set[str]:
    """The names in the annotations of a function as autodoc writes them."""
    if entry.directive not in ("autofunction", "automethod"):
        return set()
    parameters = signature(entry.value).parameters.values()
    annotations = [stringify_annotation(parameter.annotation, "smart") for parameter in parameters]
    return set(re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", " ".join(annotations)))


def test_types_of_signatures_mean_one_thing(reference: PythonDomain, caplog: Any):
    for module in modules():
        for mention in sorted(set().union(*map(mentions_of, entries(module)))):
            link(reference, module, mention)
    assert caplog.messages == []
