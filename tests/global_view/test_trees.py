"""Structures of global tensors, and new tensors that are global."""

from collections import OrderedDict

import pytest

import oneflow as flow
from oneflow.utils import global_view

S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])


def test_structures_keep_their_form():
    state = OrderedDict(a=flow.ones(2, 3), b=[flow.zeros(4), (flow.ones(1), 3, None)])
    made = flow.to_global(state, PAIR, B)
    assert type(made) is OrderedDict
    assert made["a"].placement is made["b"][1][0].placement is PAIR
    assert made["b"][1][1:] == (3, None)
    back = flow.to_local(made)
    assert back["b"][0].is_local
    assert flow.to_global(flow.ones(2), PAIR, S(0)).shape == (4,)
    local = flow.ones(2)
    assert flow.to_local({"x": local})["x"] is local


def test_sbp_by_a_function_of_the_structure_and_the_tensor():
    state = flow.nn.Linear(4, 2).to_global(PAIR, B).state_dict()
    made = flow.to_global(state, PAIR, lambda tree, tensor: S(1 if tensor is tree["weight"] else 0))
    assert {name: tensor.sbp for name, tensor in made.items()} == {
        "weight": (S(1),),
        "bias": (S(0),),
    }


def test_what_is_no_tensor_is_mentioned():
    with pytest.warns(UserWarning, match="object"):
        flow.to_global([object()], PAIR, B)
    global_view.to_global([object()], PAIR, B, warn_on_non_tensor_leaf=False)


def test_new_tensors_are_global_in_the_mode():
    with global_view.global_mode(True, PAIR, B):
        made = [
            flow.zeros(2, 3),
            flow.randn(2),
            flow.tensor([1.0]),
            flow.arange(4, device="cpu"),
            flow.nn.Linear(2, 3).weight,
            flow.nn.BatchNorm1d(2).running_mean,
        ]
        mode = global_view.current_global_mode()
        assert (mode.is_enabled, mode.placement, mode.sbp) == (True, PAIR, (B,))
        with global_view.global_mode(False):
            assert flow.ones(2).is_local
        assert flow.zeros(2, placement=PAIR, sbp=S(0)).sbp == (S(0),)
    assert all(tensor.placement is PAIR for tensor in made)
    assert flow.ones(2).is_local
    with pytest.raises(ValueError, match="placement"):
        global_view.global_mode(True)


def test_names_of_older_versions():
    net = flow.nn.Linear(2, 2)
    assert not net.consistent
    assert net.to_consistent(PAIR, B).consistent
    assert isinstance(net.weight.consistent_id, type(net.weight.global_id))
    assert flow.env.all_device_placement("cpu").ranks[:2].tolist() == [0, 1]
    x = flow.local_to_global(flow.ones(2), PAIR, S(0))
    assert flow.global_to_global(x, sbp=B).sbp == (B,)
