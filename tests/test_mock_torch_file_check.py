"""`torch.testing.FileCheck` passes and fails on what PyTorch's passes and fails on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch.testing

from oneflow.mock_torch.pytorch.file_check import FileCheck

TEXTS = ("a\nx\nb", "a b\nb c\nc", "b a a", "a a a", "", "bbc\n~~~\nb", "c\nb\na")
CHECKS: dict[str, Callable[[Any], Any]] = {
    "two in order": lambda check: check.check("a").check("b"),
    "one, and not another between": lambda check: check.check("a").check_not("x").check("b"),
    "not before": lambda check: check.check_not("b").check("a"),
    "not behind": lambda check: check.check("a").check_not("b"),
    "next": lambda check: check.check("b").check_next("c"),
    "same": lambda check: check.check("a").check_same("b"),
    "twice": lambda check: check.check_count("a", 2),
    "exactly twice": lambda check: check.check_count("a", 2, exactly=True),
    "exactly three times": lambda check: check.check_count("a", 3, exactly=True),
    "any order": lambda check: check.check_dag("b").check_dag("a"),
    "any order, then": lambda check: check.check_dag("b").check_dag("a").check("c"),
    "any order, not then": lambda check: check.check_dag("a").check_dag("b").check_not("c"),
    "expression": lambda check: check.check_regex("b+c"),
    "highlighted": lambda check: check.check_source_highlighted("bbc"),
}
SOURCES = (
    "# CHECK: a\n# CHECK-NEXT: x",
    "def f():\n    # CHECK-NOT: x\n    # CHECK: b",
    "# CHECK-COUNT-2: a",
    "# CHECK-COUNT-EXACTLY-2: a",
    "# CHECK-DAG: b\n# CHECK-DAG: a",
    "# CHECK-SAME: a",
)


def _passes(check: Any, *texts: str) -> bool:
    try:
        check.run(*texts)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", CHECKS)
def test_checks_pass_on_the_same_texts(name: str) -> None:
    build = CHECKS[name]
    for text in TEXTS:
        expected = _passes(build(torch.testing.FileCheck()), text)
        assert _passes(build(FileCheck()), text) == expected, text


@pytest.mark.parametrize("source", SOURCES)
def test_comments_are_checks(source: str) -> None:
    for text in TEXTS:
        expected = _passes(torch.testing.FileCheck(), source, text)
        assert _passes(FileCheck(), source, text) == expected, text


def test_errors_say_what_was_searched() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)find 'b'.*a\nx.*CHECK-NEXT: b"):
        FileCheck().check("a").check_next("b").run("a\nx")
    with pytest.raises(RuntimeError, match="No checks"):
        FileCheck().run("a")
