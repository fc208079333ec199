"""Types of TorchScript beside PyTorch's."""

from __future__ import annotations

import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")
TYPES = {
    "list": lambda torch: torch.ListType(torch.IntType.get()),
    "lists": lambda torch: torch.ListType.ofTensors(),
    "optional": lambda torch: torch.OptionalType(torch.StringType.get()),
    "dictionary": lambda torch: torch.DictType(torch.StringType.get(), torch.IntType.get()),
    "tuple": lambda torch: torch.TupleType([torch.IntType.get(), torch.TensorType.get()]),
    "empty tuple": lambda torch: torch.ListType(torch.TupleType([])),
    "union": lambda torch: torch.UnionType([torch.IntType.get(), torch.StringType.get()]),
    "future": lambda torch: torch.FutureType(torch.IntType.get()),
}


for _name in (
    *("AnyType", "TensorType", "IntType", "FloatType", "BoolType", "StringType"),
    *("NumberType", "NoneType", "ComplexType", "StreamObjType", "SymIntType"),
):
    TYPES[_name] = lambda torch, name=_name: getattr(torch, name).get()


@pytest.mark.parametrize("name", TYPES)
def test_types_are_pytorchs(name):
    ours, theirs = (TYPES[name](library) for library in (OURS, torch))
    assert (str(ours), ours.kind(), ours.annotation_str) == (
        str(theirs),
        theirs.kind(),
        theirs.annotation_str,
    )
    others = {
        library: {other: TYPES[other](library) for other in TYPES} for library in (OURS, torch)
    }
    assert {other: ours.isSubtypeOf(kind) for other, kind in others[OURS].items()} == {
        other: theirs.isSubtypeOf(kind) for other, kind in others[torch].items()
    }
    assert ours == TYPES[name](OURS)


def test_containers_of_one_type():
    for library in (OURS, torch):
        assert str(library.ScriptDict({"a": 1, "b": 2})) == "{a: 1, b: 2}"
        with pytest.raises(TypeError):
            library.ScriptList([1]).append("a")
        with pytest.raises(library.jit.Error, match="Unable to infer type"):
            library.ScriptList([1, "a"])


def test_insides_of_torchscript_say_what_takes_their_place():
    assert not isinstance(1, OURS.Node)
    for make in (OURS.Node, OURS.LiteScriptModule, OURS.parse_ir):
        with pytest.raises(NotImplementedError, match=r"torch\.\w+.*torch.export"):
            make()


def test_schemas_are_read_by_one_function():
    assert OURS.parse_schema is OURS._C.parse_schema
    schema = OURS.parse_schema("a::f(Tensor x, int y=1) -> Tensor")
    assert isinstance(schema, OURS.FunctionSchema)
    assert all(isinstance(argument, OURS.Argument) for argument in schema.arguments)
