"""The signatures in the stubs of façades: `out`, and the other names of arguments."""

from __future__ import annotations

import ast
import inspect
import sys

import oneflow as flow
from tests.distributed.launching import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from facade_stubs import facade_stubs, renamed, with_out

NUMPY = {"dim": "axis", "keepdim": "keepdims"}


def total(x: Tensor, dim: int = 0, keepdim: bool = False, **options: int) -> Tensor:  # noqa: F821
    """A function as rooms define it."""


def count(x: Tensor) -> int:  # noqa: F821
    """A function whose result is no tensor."""


def test_out_is_added_where_results_are_tensors():
    signature = with_out(inspect.signature(total))
    assert list(signature.parameters) == ["x", "dim", "keepdim", "out", "options"]
    assert signature.parameters["out"].annotation == "Tensor | None"
    assert with_out(signature) == signature
    assert "out" not in with_out(inspect.signature(count)).parameters


def test_other_names_have_to_be_given_by_keyword():
    signature = renamed(inspect.signature(total), NUMPY)
    assert (
        str(signature)
        == "(x: 'Tensor', *, axis: 'int', keepdims: 'bool' = False, **options: 'int')"
        " -> 'Tensor'"
    )
    assert renamed(inspect.signature(count), NUMPY) is None


def names_bound(text: str) -> set[str]:
    """Return the names that the text of a stub binds."""
    bound = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            bound |= {name.asname for name in node.names}
        elif isinstance(node, ast.Assign):
            bound.add(node.targets[0].id)
    return bound


def test_stubs_define_what_facades_publish():
    for file, text in facade_stubs():
        facade = ast.parse(file.with_suffix(".py").read_text(encoding="utf-8"))
        (published,) = [
            ast.literal_eval(node.value)
            for node in facade.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        ]
        assert set(published) <= names_bound(text), file


def test_keywords_of_stubs_are_accepted():
    x, out = flow.ones(2, 3), flow.zeros(1, 3)
    assert flow.sum(x, axis=0, keepdims=True, out=out) is out
    assert flow.abs(input=-out, out=out).tolist() == [[2.0, 2.0, 2.0]]
