"""The documentation finds what a mention means as Sphinx does, with an index."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.changes import ROOT

pytest.importorskip("sphinx", reason="make venv")
sys.path.append(str(ROOT / "docs" / "extensions"))
from python_domain import IndexedPythonDomain
from sphinx.domains.python import ObjectEntry, PythonDomain

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
