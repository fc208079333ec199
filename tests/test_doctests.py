"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import flowvision
import oneflow
import oneflow_onnx
from oneflow.functional.registry import FUNCTIONS

PACKAGES = (flowvision, oneflow, oneflow_onnx)


def modules():
    """Every module of the packages."""
    for package in PACKAGES:
        yield package
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(info.name)


def documented():
    """`(name, docstring)` of every class, method and function defined in the packages."""
    found = {}
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in modules():
        for test in finder.find(module, module.__name__):
            if test.examples:
                found[test.name] = test.docstring
    return found


DOCUMENTED = documented()
# An error may carry notes after its message.
_FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_example(name):
    test = doctest.DocTestParser().get_doctest(DOCUMENTED[name], {}, name, None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=_FLAGS)
    runner.run(test, out=report.append)
    assert not report, "".join(report)


def test_every_public_function_has_a_docstring():
    missing = [name for name, each in FUNCTIONS.items() if not inspect.getdoc(each)]
    assert missing == []
