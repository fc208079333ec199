"""Functions beneath layers and files, which libraries call, here and in PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.in_place import in_place_of, module_of

OURS = in_place_of("torch")
_KINDS = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}
_CELLS = {"lstm_cell": (4, 2), "gru_cell": (3, 1), "rnn_tanh_cell": (1, 1), "rnn_relu_cell": (1, 1)}


def _random(library: Any, *shape: int) -> Any:
    return library.tensor(np.random.default_rng(sum(shape)).normal(size=shape))


def _numbers(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return [_numbers(part) for part in result]
    return result.detach().numpy() if hasattr(result, "detach") else result


def _assert_equal(program: Callable[[Any], Any]) -> None:
    ours, theirs = _numbers(program(OURS)), _numbers(program(torch))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def _weights(library: Any, gates: int, layers: int, directions: int, biases: bool) -> list:
    weights = []
    for layer in range(layers):
        for _ in range(directions):
            width = 3 if layer == 0 else 4 * directions
            weights += [_random(library, gates * 4, width), _random(library, gates * 4, 4)]
            weights += [_random(library, gates * 4)] * 2 if biases else []
    return weights


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("kind", _KINDS)
def test_recurrent_layers_as_functions(kind: str, directions: int, biases: bool) -> None:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]

    def program(library: Any) -> Any:
        weights = _weights(library, gates, 2, directions, biases)
        state = _random(library, 2 * directions, 2, 4)
        states = (state, state) if kind == "LSTM" else state
        options = (biases, 2, 0.0, False, directions == 2)
        function = getattr(library, _KINDS[kind])
        padded = function(_random(library, 2, 5, 3), states, weights, *options, True)
        sizes = library.tensor([2, 2, 1])
        return [*padded, *function(_random(library, 5, 3), sizes, states, weights, *options)]

    _assert_equal(program)


@pytest.mark.parametrize("name", _CELLS)
def test_recurrent_cells_as_functions(name: str) -> None:
    gates, count = _CELLS[name]

    def program(library: Any) -> Any:
        state = _random(library, 2, 4)
        states = (state, state) if count == 2 else state
        weights = _weights(library, gates, 1, 1, True)
        result = getattr(library, name)(_random(library, 2, 3), states, *weights)
        return result if count == 2 else [result]

    _assert_equal(program)


def test_swapped_tensors_train_on() -> None:
    def program(library: Any) -> Any:
        first = library.nn.Parameter(_random(library, 3))
        second = _random(library, 2)
        second.mark = "second"
        kinds = type(first), type(second)
        library.utils.swap_tensors(first, second)
        assert (type(second), type(first)) == kinds
        assert first.mark == "second"
        (second**2).sum().backward()
        leaf, plain = _random(library, 4).requires_grad_(), _random(library, 5)
        library.utils.swap_tensors(leaf, plain)
        (plain**3).sum().backward()
        flags = [second.requires_grad, first.requires_grad, leaf.requires_grad]
        return [first, second, second.grad, plain, plain.grad, leaf, flags]

    _assert_equal(program)


def test_swapped_tensors_keep_their_memory() -> None:
    def program(library: Any) -> Any:
        whole, other = library.zeros(3), library.ones(2)
        part = whole[1:]
        library.utils.swap_tensors(part, other)
        other += 5
        part += 1
        return [whole, part, other]

    _assert_equal(program)


@pytest.mark.parametrize("other_requires_grad", [True, False])
def test_graphs_from_before_a_swap_are_refused(other_requires_grad: bool) -> None:
    for library in (OURS, torch):
        first = library.nn.Parameter(library.ones(2))
        second = library.zeros(2, requires_grad=other_requires_grad)
        loss = (first * 3).sum()
        library.utils.swap_tensors(first, second)
        with pytest.raises(RuntimeError, match="swap_tensors"):
            loss.backward()
        assert first.grad is None
        assert second.grad is None


def test_swapped_leaves_take_their_hooks_and_gradients() -> None:
    def add_one(leaf: Any) -> None:
        leaf.grad.add_(1)

    def program(library: Any) -> Any:
        first, second = library.ones(2, requires_grad=True), library.zeros(2, requires_grad=True)
        first.register_hook(lambda grad: grad * 10)
        first.register_post_accumulate_grad_hook(add_one)
        (first * 2).sum().backward()
        library.utils.swap_tensors(first, second)
        library.utils.swap_tensors(first, first)
        (first.sum() + second.sum()).backward()
        return [first.grad, second.grad]

    _assert_equal(program)


def test_what_is_computed_from_others_is_not_swapped() -> None:
    x = OURS.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="computed from others"):
        OURS.utils.swap_tensors(x * 2, OURS.ones(2))


def test_tensors_of_files() -> None:
    def program(library: Any) -> Any:
        tools = module_of(library, "torch._utils")
        memory = library.arange(6.0, dtype=library.float64)
        storage = library.storage.TypedStorage(
            wrap_storage=memory.untyped_storage(), dtype=memory.dtype, _internal=True
        )
        tensor = tools._rebuild_tensor_v2(storage, 1, (2, 2), (2, 1), True, {})
        parameter = tools._rebuild_parameter(tensor.detach(), False, {})
        return [tensor, parameter, [tensor.requires_grad, parameter.requires_grad]]

    _assert_equal(program)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "limits are equal": lambda x: [
        x.finfo(x.float32) == x.finfo(),
        x.finfo(x.float32) == x.finfo(x.float64),
        x.iinfo(x.int8) == x.iinfo(x.int8),
        x.iinfo(x.int8) == x.iinfo(x.uint8),
        len({x.finfo(x.float16), x.finfo(x.float16)}) if x is OURS else 1,
    ],
    "weak dictionaries": lambda x: _weak(x),
    "architectures": lambda x: x.cuda.get_arch_list(),
}


def _weak(library: Any) -> Any:
    kind = module_of(library, "torch.utils.weak").WeakIdKeyDictionary
    keys = [library.ones(1) for _ in range(3)]
    marks = kind({keys[0]: [1], keys[1]: [2]})
    shallow, deep = marks.copy(), copy.deepcopy(marks)
    marks[keys[0]].append(3)
    both = marks | {keys[2]: [4]}
    other = {keys[2]: [5]} | marks
    marks |= {keys[1]: [6]}
    del keys[2]
    return [
        [sorted(map(str, d.values())) for d in (marks, shallow, deep)],
        [len(both), len(other), type(other) is kind, repr(marks).split(" at ")[0]],
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_low_level_names_are_as_in_pytorch(name: str) -> None:
    assert PROGRAMS[name](OURS) == PROGRAMS[name](torch)


@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_resetting_peaks_warns(name: str) -> None:
    with pytest.warns(FutureWarning, match=f"{name} now calls"):
        getattr(OURS.cuda, name)()
