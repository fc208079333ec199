"""Recurrent layers and cells against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import (
    assert_same,
    assert_same_parameter_gradients,
    assert_twins_agree,
    both,
    raised_by,
    random_array,
    twin,
    weighted_sum,
)
from tests.oracle import to_flow, to_torch

STEPS, BATCH, FEATURES, HIDDEN = 5, 3, 4, 6
CASES = [
    ("LSTM", {}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "batch_first": True}),
    ("GRU", {"num_layers": 2, "bidirectional": True}),
    ("GRU", {"bias": False, "batch_first": True}),
    ("RNN", {"num_layers": 2, "bidirectional": True, "nonlinearity": "relu"}),
]
each_case = pytest.mark.parametrize(("kind", "options"), CASES, ids=str)


def layer_twins(kind, options):
    return twin(lambda lib: getattr(lib.nn, kind)(FEATURES, HIDDEN, **options))


def sequence(options, seed=0):
    shape = (BATCH, STEPS) if options.get("batch_first") else (STEPS, BATCH)
    return random_array(*shape, FEATURES, seed=seed)


def initial_states(module):
    arrays = [random_array(*shape, seed=9) for shape in module._state_shapes(BATCH)]
    pairs = [both(array) for array in arrays]
    return tuple(tuple(column) for column in zip(*pairs, strict=True))


@pytest.mark.one_in(6)
@each_case
def test_layers_from_given_states(kind, options):
    mine, theirs = layer_twins(kind, options)
    assert repr(mine) == repr(theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    my_states, their_states = initial_states(mine)
    x, y = both(sequence(options))
    results = (
        mine(x, my_states if kind == "LSTM" else my_states[0]),
        theirs(y, their_states if kind == "LSTM" else their_states[0]),
    )
    assert_same(*results)
    weighted_sum(results[0], to_flow).backward()
    weighted_sum(results[1], to_torch).backward()
    assert_same(x.grad, y.grad, "gradient of the input")
    for pair in zip(my_states, their_states, strict=True):
        assert_same(pair[0].grad, pair[1].grad, "gradient of the states")
    assert_same_parameter_gradients(mine, theirs)


@pytest.mark.one_in(6)
@each_case
def test_packed_sequences(kind, options):
    mine, theirs = layer_twins(kind, options)
    x, y = both(sequence(options))
    lengths = [2, 5, 3]
    batch_first = options.get("batch_first", False)
    results = []
    for lib, module, tensor in ((flow, mine, x), (torch, theirs, y)):
        rnn = lib.nn.utils.rnn
        packed = rnn.pack_padded_sequence(tensor, lengths, batch_first, enforce_sorted=False)
        output, states = module(packed)
        results.append((*rnn.pad_packed_sequence(output, batch_first), states))
    assert_same(*results)
    weighted_sum(results[0], to_flow).backward()
    weighted_sum(results[1], to_torch).backward()
    assert_same(x.grad, y.grad, "gradient of the input")
    assert_same_parameter_gradients(mine, theirs)


def test_without_a_batch():
    mine, theirs = layer_twins("LSTM", {})
    assert_twins_agree(mine, theirs, [random_array(STEPS, FEATURES)])


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells(kind):
    mine, theirs = layer_twins(kind, {})
    assert repr(mine) == repr(theirs)
    assert_twins_agree(mine, theirs, [random_array(BATCH, FEATURES)])


def test_cell_with_states():
    mine, theirs = layer_twins("GRUCell", {})
    assert_twins_agree(mine, theirs, [random_array(BATCH, FEATURES), random_array(BATCH, HIDDEN)])


def test_dropout_between_layers_only_in_training():
    lstm = flow.nn.LSTM(FEATURES, HIDDEN, num_layers=2, dropout=0.5)
    x = flow.tensor(random_array(STEPS, BATCH, FEATURES).astype(np.float32))
    assert not np.allclose(lstm(x)[0].numpy(), lstm(x)[0].numpy())
    lstm.eval()
    assert np.array_equal(lstm(x)[0].numpy(), lstm(x)[0].numpy())


def test_second_gradient_of_an_lstm():
    results = []
    mine, theirs = layer_twins("LSTM", {})
    for lib, module, make in ((flow, mine, to_flow), (torch, theirs, to_torch)):
        x = make(random_array(STEPS, BATCH, FEATURES)).requires_grad_()
        (grad,) = lib.autograd.grad((module(x)[0] ** 2).sum(), [x], create_graph=True)
        (grad**2).sum().backward()
        results.append((x.grad, module.weight_hh_l0.grad))
    assert_same(*results, "second gradient")


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, m, x: m(x[..., :2]),
        lambda lib, m, x: m(x[None]),
        lambda lib, m, x: m(x, (x[:1], x[:1])),
        lambda lib, m, x: m(x, (x[0], x[0])),
        lambda lib, m, x: m.check_input(x, lib.ones(3)),
        lambda lib, m, x: lib.nn.LSTM(4, 0),
        lambda lib, m, x: lib.nn.LSTM(4, 3, proj_size=3),
        lambda lib, m, x: lib.nn.GRU(4, 3, proj_size=2),
        lambda lib, m, x: lib.nn.RNN(4, 3, nonlinearity="gelu"),
        lambda lib, m, x: lib.nn.utils.rnn.pack_padded_sequence(x, [2, 3, 1]),
        lambda lib, m, x: lib.nn.utils.rnn.pack_padded_sequence(x, [3, 2, 0]),
        lambda lib, m, x: lib.nn.utils.rnn.pack_padded_sequence(x, [3, 2]),
    ],
)
def test_errors_are_of_pytorchs_type(call):
    mine, theirs = layer_twins("LSTM", {})
    x, y = both(random_array(STEPS, BATCH, FEATURES), requires_grad=False)
    with pytest.raises(raised_by(lambda: call(torch, theirs, y))):
        call(flow, mine, x)


PARTS = [[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_pad_sequence(batch_first, padding_side):
    results = [
        lib.nn.utils.rnn.pad_sequence(
            [lib.tensor(part) for part in PARTS], batch_first, -1.0, padding_side
        )
        for lib in (flow, torch)
    ]
    assert_same(*results)


def test_packing_a_list_and_back():
    results = []
    for lib in (flow, torch):
        rnn = lib.nn.utils.rnn
        packed = rnn.pack_sequence([lib.tensor(part) for part in PARTS], enforce_sorted=False)
        padded = rnn.pad_packed_sequence(packed, total_length=4, padding_value=-1.0)
        results.append((*packed, *padded, *rnn.unpack_sequence(packed)))
    assert_same(*(tuple(result) for result in results))


def test_packed_sequence_converts_its_data():
    rnn = flow.nn.utils.rnn
    packed = rnn.pack_sequence([flow.tensor(part) for part in PARTS], enforce_sorted=False)
    assert packed.double().data.dtype is flow.float64
    assert packed.to(flow.float16).batch_sizes.tolist() == packed.batch_sizes.tolist()


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_checks_of_states_are_pytorchs(kind):
    mine, theirs = (
        getattr(lib.nn, kind)(3, 4, num_layers=2, batch_first=True) for lib in (flow, torch)
    )
    for x, h in (((5, 2, 3), (2, 5, 4)), ((5, 2, 3), (2, 2, 4)), ((5, 2, 4), (2, 5, 4))):
        outcomes = []
        for lib, layer in ((flow, mine), (torch, theirs)):
            hidden = lib.zeros(*h)
            states = (hidden, hidden) if kind == "LSTM" else hidden
            try:
                layer.check_forward_args(lib.zeros(*x), states, None)
                outcomes.append("passes")
            except (RuntimeError, ValueError):
                outcomes.append("raises")
        assert outcomes[0] == outcomes[1]
    counts = {lib: lib.tensor([4, 2]) for lib in (flow, torch)}
    for name in ("get_expected_hidden_size", *(["get_expected_cell_size"] * (kind == "LSTM"))):
        shapes = [
            getattr(layer, name)(lib.zeros(6, 3), counts[lib])
            for lib, layer in ((flow, mine), (torch, theirs))
        ]
        assert shapes[0] == shapes[1]
    state = flow.arange(6.0).reshape(1, 3, 2)
    order = flow.tensor([2, 0, 1])
    assert mine.permute_hidden((state, state), order)[1][0].tolist() == [[4, 5], [0, 1], [2, 3]]
    assert mine.permute_hidden(state, None) is state
