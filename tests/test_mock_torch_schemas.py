"""Schemas of operators as objects, and operators that a `Library` defines, as in PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")
parse = in_place_of("torch._C").parse_schema
SCHEMAS = (
    "any(Tensor self, int a, int b=1) -> Tensor",
    "any(Tensor self, int a) -> Tensor",
    "any(Tensor self, int a, int b=1, int c=1) -> Tensor",
    "any(Tensor self, int a, int b=1, int[2] c=1) -> Tensor",
    "any(Tensor self, int a=1, int b=1) -> Tensor",
    "any(Tensor self, int a, int b) -> Tensor?",
    "any(Tensor self, int? a, *, int b=1) -> Tensor",
    "any(Tensor self, *, int a, int b=1, Tensor(a!) out) -> Tensor(a!)",
    "any(Tensor self, *, int a, Tensor(a!) out, Tensor(b!) other) -> Tensor(a!)",
    "any.over(Tensor(a!)[] self, *, str? order='x') -> (Tensor, int)",
    "any.over(Tensor(a) self, SymInt dim, ScalarType? dtype=None) -> Tensor(a)",
    "any(Scalar self, int a, int b=1) -> Tensor",
    "any(int self, int a, int b=1) -> (Tensor values, Tensor indices)",
)
# PyTorch reads beyond the end of the arguments where a schema has fewer results to write to.
PAIRS = [x for x in itertools.product(SCHEMAS, SCHEMAS) if x != (SCHEMAS[7], SCHEMAS[8])]


def _described(schema: Any) -> list[Any]:
    return [
        schema.name,
        schema.overload_name,
        schema.is_mutable,
        len(schema.returns),
        *(
            (
                x.name,
                x.kwarg_only,
                x.is_out,
                x.has_default_value(),
                x.default_value,
                x.type.str(),
                x.N,
            )
            for x in schema.arguments
        ),
        *(
            (x.alias_info is not None and x.alias_info.is_write, x.type.str())
            for x in (*schema.arguments, *schema.returns)
        ),
    ]


@pytest.mark.parametrize("text", SCHEMAS)
def test_schemas_are_read_as_by_pytorch(text: str) -> None:
    ours, theirs = parse(text), torch._C.parse_schema(text)
    assert _described(ours) == _described(theirs)
    assert parse(str(ours)) == ours
    assert hash(parse(text)) == hash(ours)


@pytest.mark.parametrize(("new", "old"), PAIRS)
def test_schemas_are_compatible_where_pytorch_says_so(new: str, old: str) -> None:
    ours, theirs = [parse(new), parse(old)], [torch._C.parse_schema(x) for x in (new, old)]
    assert ours[0].is_backward_compatible_with(ours[1]) == theirs[0].is_backward_compatible_with(
        theirs[1]
    )
    assert (
        ours[0].check_forward_compatible_with(ours[1])[0]
        == theirs[0].check_forward_compatible_with(theirs[1])[0]
    )
    assert (ours[0] == ours[1]) == (new == old)


@pytest.mark.parametrize("text", ["any", "any(int a, int b=0, ...) -> int", "any(int a"])
def test_other_texts_are_refused_as_by_pytorch(text: str) -> None:
    for read in (parse, torch._C.parse_schema):
        with pytest.raises(RuntimeError):
            read(text)


def test_a_library_defines_operators_by_decorators() -> None:
    library = OURS.library.Library("schemas_of_tests", "DEF")

    @OURS.library.define(library, "twice(Tensor x) -> Tensor")
    def twice(x: Any) -> Any:
        return x * 2

    library.define("thrice(Tensor x) -> Tensor")

    @OURS.library.impl(library, "thrice", "CPU")
    def thrice(x: Any) -> Any:
        return x * 3

    x = OURS.ones(1)
    assert OURS.ops.schemas_of_tests.twice(x).item() == 2.0
    assert OURS.ops.schemas_of_tests.thrice(x).item() == 3.0


def test_a_library_refuses_what_pytorch_refuses() -> None:
    for library in (OURS.library.Library, torch.library.Library):
        with pytest.raises(ValueError, match="Unsupported kind"):
            library("schemas_of_tests", "OTHER")
        with pytest.raises(ValueError, match="reserved"):
            library("prim", "DEF")
        with pytest.raises(TypeError):
            library("aten", "IMPL").impl("neg", [], "CPU")
