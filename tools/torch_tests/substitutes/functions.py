"""Tests that are functions for pytest, as the tests of a class."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest
from tools.torch_tests.substitutes.parameters import parametrize, subtest, variants
from tools.torch_tests.substitutes.test_case import TestCase


def add_test_functions(module: ModuleType) -> None:
    """Give a module with functions that pytest takes for tests a class that has them as tests."""
    functions = {
        name: function
        for name, function in vars(module).items()
        if name.startswith("test") and isinstance(function, FunctionType)
    }
    tests = {k: test for name, f in functions.items() for k, test in _tests_of(name, f)}
    if tests:
        members = {**tests, "__module__": module.__name__}
        module.__dict__["Functions"] = type("Functions", (TestCase,), members)


def _tests_of(name: str, function: Callable) -> Iterator[tuple[str, Callable]]:
    @functools.wraps(function)
    def run(self: TestCase, **values: Any) -> None:
        try:
            function(**values)
        except pytest.skip.Exception as reason:
            raise unittest.SkipTest(str(reason)) from None

    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            names = names if isinstance(names, str) else ",".join(names)
            sets = [_subtest(value, index) for index, value in enumerate(values)]
            run = parametrize(names, sets)(run)
    return variants(run, name)


def _subtest(value: Any, index: int) -> subtest:
    """Values are called by their number: texts of objects hold their addresses."""
    marks = getattr(value, "marks", ())
    skipped = [m for m in marks if m.name == "skip" or (m.name == "skipif" and m.args[0])]
    values = value
    if type(value).__name__ == "ParameterSet":
        values = value.values[0] if len(value.values) == 1 else value.values
    reasons = [unittest.skip(m.kwargs.get("reason", m.name)) for m in skipped]
    return subtest(values, name=str(index), decorators=reasons)
