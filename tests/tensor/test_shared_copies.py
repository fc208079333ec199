"""Tensors that share memory and are copied, or sent to processes, together share memory again."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import pytest
import torch

import oneflow as flow


def _sent(objects: Any) -> Any:
    """The tensors that another process gets."""
    return pickle.loads(bytes(ForkingPickler.dumps(objects)))


# Lists of tensors that share memory.
FAMILIES: dict[str, Callable[[Any], list[Any]]] = {
    "the whole and a part": lambda lib: [x := lib.arange(4.0), x[:2]],
    "a part and the whole": lambda lib: [(x := lib.arange(4.0))[:2], x],
    "parts that overlap": lambda lib: [(x := lib.arange(4.0))[:3], x[1:]],
    "a transpose and an alias": lambda lib: [x := lib.ones(2, 3), x.t(), x.detach()],
    "the same": lambda lib: [x := lib.arange(4.0), x],
    "a part alone": lambda lib: [lib.arange(4.0)[1:], lib.ones(2)],
    "a leaf in a part": lambda lib: [x := lib.ones(4), x[1:].detach().requires_grad_()],
    "parts of complex numbers": lambda lib: [x := lib.tensor([1 + 2j, 3j]), x.real, x.imag],
    "other bits": lambda lib: [x := lib.arange(4.0), x.view(lib.int32)],
    "several steps": lambda lib: [(x := lib.ones(3, 4)), x.t()[1:, ::2].unsqueeze(1), x.view(-1)],
}


def _copies_after_writes(lib: Any, objects: list[Any], copied: Callable[[Any], Any]) -> list[Any]:
    copies = copied(objects)
    states = [[tensor.tolist() for tensor in copies]]
    for number, tensor in enumerate(copies):
        with lib.no_grad():
            tensor.add_(number + 1)
        states.append([other.tolist() for other in copies])
    return [states, [(tensor.stride(), tensor.requires_grad, tensor.is_leaf) for tensor in copies]]


@pytest.mark.parametrize("name", FAMILIES)
def test_deep_copies_share_memory(name: str) -> None:
    results = []
    for lib in (flow, torch):
        objects = FAMILIES[name](lib)
        before = [tensor.tolist() for tensor in objects]
        results.append(_copies_after_writes(lib, objects, copy.deepcopy))
        assert [tensor.tolist() for tensor in objects] == before
    assert results[0] == results[1]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_sent_to_a_process_shares_memory(name: str) -> None:
    sent = _copies_after_writes(flow, FAMILIES[name](flow), _sent)
    assert sent == _copies_after_writes(torch, FAMILIES[name](torch), copy.deepcopy)


def test_conjugates_are_sent_with_their_memory() -> None:
    z = flow.tensor([1 + 2j, 3j])
    first, second = _sent([z, z.conj()])
    second.mul_(2)
    assert first.tolist() == [2 + 4j, 6j]


def test_copies_of_parameters_stand_alone() -> None:
    for lib in (flow, torch):
        x = lib.arange(4.0)
        parameter, copied = copy.deepcopy([lib.nn.Parameter(x), x])
        with lib.no_grad():
            parameter.add_(1)
        assert copied.tolist() == [0, 1, 2, 3]


def test_parameters_made_of_a_vector_share_its_memory() -> None:
    for lib in (flow, torch):
        layer = lib.nn.Linear(2, 2)
        vector = lib.arange(6.0)
        weight = layer.weight
        lib.nn.utils.vector_to_parameters(vector, layer.parameters())
        vector.mul_(2)
        assert layer.weight is weight
        assert layer.weight.tolist() == [[0, 2], [4, 6]]
        assert layer.bias.requires_grad
        with lib.no_grad():
            layer.bias.zero_()
        assert vector.tolist() == [0, 2, 4, 6, 0, 0]
