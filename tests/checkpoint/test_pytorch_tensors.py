"""Tensors in PyTorch's files: which are the same, which share memory, and what no file changes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch

import oneflow as flow
from oneflow.checkpoint.pickled_objects import of_class
from tests.checkpoint.both_libraries import DIRECTIONS, OURS, saved
from tests.checkpoint.test_pytorch_files import Settings


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_objects_are_the_same_where_they_were(direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    x = writer.ones(2)
    parameter = writer.nn.Parameter(x)
    value = [x, x, x.detach(), parameter, parameter, writer.nn.Parameter(x)]
    loaded = reader.load(saved(writer, value))
    assert loaded[0] is loaded[1]
    assert loaded[3] is loaded[4]
    assert len({id(tensor) for tensor in loaded}) == 4
    with reader.no_grad():
        loaded[2][0] = 7
    assert [tensor.tolist() for tensor in loaded] == [[7, 1]] * 6


@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "plain"])
def test_numbers_with_the_other_sign(is_archive: bool) -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    value = Settings(0.1, [z.conj().imag, z.conj().imag[:0]])
    file = saved(torch, value, _use_new_zipfile_serialization=is_archive)
    loaded = OURS.load(file, weights_only=False).weight
    assert [x.tolist() for x in loaded] == [[-2, 1], []]


#: States that would take the place of what a tensor is made of.
HOSTILE_STATES = {
    "value": ({"_value": 5}, "'_value'"),
    "family": ({"_family": 5}, "'_family'"),
    "method": ({"numpy": "evil"}, "'numpy'"),
    "class": ({"__class__": 5}, "'__class__'"),
    "slots": (({}, {"_value": 5}), "tuple"),
    "number": ({1: 2}, "1"),
    "list": ([1], "list"),
}


class Hostile:
    """Becomes a tensor with a state when a file with it is read."""

    def __init__(self, library: Any, state: Any) -> None:
        self.library, self.state = library, state

    def __reduce__(self) -> Any:
        if self.library is not torch:
            return of_class, (flow.Tensor, flow.ones(2)), self.state
        parts = torch.ones(2).__reduce_ex__(2)[1]
        arguments = torch._utils._rebuild_tensor_v2, torch.Tensor, parts, self.state
        return torch._tensor._rebuild_from_type_v2, arguments


@pytest.mark.parametrize("declared", [[], [Settings]], ids=["none declared", "one declared"])
@pytest.mark.parametrize("library", [torch, flow], ids=["theirs", "ours"])
@pytest.mark.parametrize("name", HOSTILE_STATES)
def test_no_file_changes_what_tensors_are(name: str, library: Any, declared: list[type]) -> None:
    state, text = HOSTILE_STATES[name]
    text = text if library is torch or declared else "weights_only=False"
    options = {} if library is torch else {"pickle_module": pickle}
    file = saved(library, [Hostile(library, state)], **options)
    with (
        OURS.serialization.safe_globals(declared),
        pytest.raises(pickle.UnpicklingError, match=text),
    ):
        OURS.load(file)


def test_memory_that_is_seen_as_several_types_is_refused() -> None:
    for library in (torch, OURS):
        x = library.zeros(4)
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            saved(library, [x, x.view(library.int32)])


def test_old_files_have_no_elements_of_types_that_came_later() -> None:
    with pytest.raises(NotImplementedError, match="_use_new_zipfile_serialization"):
        saved(OURS, OURS.tensor([1], dtype=OURS.uint16), _use_new_zipfile_serialization=False)
