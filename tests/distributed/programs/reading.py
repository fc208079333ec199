"""Global tensors that are read: every rank gets the whole, also where it has no part (2 ranks)."""

import os
import threading
from collections import defaultdict

import numpy as np

import oneflow as flow
from oneflow.utils import global_view

RANK = flow.env.get_rank()
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split
PAIR, FIRST, SECOND = (flow.placement("cpu", ranks) for ranks in ([0, 1], [0], [1]))


def check_reading():
    whole = np.arange(6, dtype=np.float32).reshape(3, 2)
    for placement in (FIRST, SECOND):
        for sbp in (B, P, S(1)):
            x = flow.tensor(whole, placement=placement, sbp=sbp)
            np.testing.assert_array_equal(x.numpy(), whole)
            assert x.tolist() == whole.tolist()
            assert f"ranks=[{placement.flat[0]}]" in repr(x)
            assert "[4., 5.]" in str(x)
            assert x.sum().item() == 15
            assert x[1, 1] > 2
            assert x.to_local().numel() == (6 if RANK in placement.flat else 0)
    parameter = flow.nn.Parameter(flow.ones(2, placement=SECOND, sbp=B))
    assert "1., 1." in repr(parameter * 1)


def check_names_of_the_cpu():
    own = flow.device("cpu", flow.env.get_local_rank())
    assert flow.ones(2).device == own
    assert flow.ones(2, device=own).to(f"cpu:{RANK}").device is flow.device("cpu")
    assert (flow.ones(2, device=own) + flow.ones(2)).sum().item() == 4


def check_one_rank_reads_what_all_have():
    loss = flow.ones(2, placement=PAIR, sbp=B).sum()
    if RANK == 0:
        assert loss.item() == 2
        assert "tensor(2." in repr(loss)


def check_data_that_one_rank_has():
    x = flow.Tensor([1.0, 2.0]) if RANK == 0 else flow.Tensor(None)
    first = flow.to_global(x, placement=FIRST, sbp=B)
    assert first.to_global(PAIR, S(0)).numpy().tolist() == [1, 2]


def check_a_pipeline_checkpoint():
    stages = flow.nn.Sequential(flow.nn.Linear(2, 2), flow.nn.Linear(2, 2))
    stages[0].to_global(FIRST, B)
    stages[1].to_global(SECOND, B)
    printed = str(stages.state_dict())
    assert "ranks=[0]" in printed
    assert "ranks=[1]" in printed
    state = {name: flow.ones_like(tensor) for name, tensor in stages.state_dict().items()}
    seen = []

    def sbp_of(tree, tensor):
        assert tree is state
        seen.append([name for name, leaf in tree.items() if leaf is tensor])
        return S(0)

    moved = global_view.to_global(state, PAIR, sbp_of)
    assert seen == [[name] for name in state]
    assert all(tensor.sbp == (S(0),) for tensor in moved.values())
    assert moved["1.weight"].tolist() == [[1, 1], [1, 1]]


def check_a_structure_that_one_rank_has():
    for placement in (FIRST, SECOND):
        owns = RANK in placement.flat
        state = {"a": flow.ones(2, 3), "b": [flow.arange(4), "text", None]} if owns else None
        asked = []

        def sbp_of(tree, tensor, asked=asked):
            asked.append(tensor is tree["a"])
            return S(0) if asked[-1] else B

        moved = global_view.to_global(state, placement, sbp_of, warn_on_non_tensor_leaf=False)
        assert asked == [True, False]
        assert moved["a"].sbp == (S(0),)
        assert moved["a"].to_global(PAIR, B).tolist() == [[1] * 3] * 2
        assert moved["b"][0].dtype == flow.int64
        assert moved["b"][0].tolist() == [0, 1, 2, 3]
        assert moved["b"][1:] == ["text", None]
        single = flow.to_global(flow.ones(3) if owns else None, placement, B)
        assert single.shape == (3,)
        assert global_view.to_global(moved, PAIR, B)["a"].placement == PAIR


def check_a_structure_with_leaves_that_cannot_be_sent():
    state = {"a": flow.ones(2), "function": lambda: 1, "lock": threading.Lock(), "n": 3}
    for given in (state, state if RANK == 0 else None):
        moved = global_view.to_global(given, FIRST, B, warn_on_non_tensor_leaf=False)
        assert moved["a"].to_global(PAIR, B).tolist() == [1, 1]
        if RANK == 0:
            assert moved == {**state, "a": moved["a"]}
        else:
            assert moved == {"a": moved["a"], "function": None, "lock": None, "n": 3}


def check_a_structure_that_cannot_be_sent():
    class Local(dict):
        """Class that `pickle` does not find."""

    for structure in (Local(a=flow.ones(2)), defaultdict(list, a=flow.ones(2))):
        try:
            global_view.to_global(structure if RANK == 0 else None, FIRST, B)
        except TypeError as error:
            assert "structure of `input` on rank 0" in str(error), error  # noqa: PT017
        else:
            raise AssertionError


def check_a_checkpoint_of_one_rank():
    layer = flow.nn.Linear(2, 2).to_global(PAIR, B)

    class Graph(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def build(self, x):
            return self.layer(x)

    numbers = {"weight": flow.eye(2), "bias": flow.ones(2)}
    state = {"layer": numbers} if RANK == 0 else None
    graph = Graph()
    graph.load_state_dict(global_view.to_global(state, FIRST, B))
    assert graph(flow.ones(1, 2, placement=PAIR, sbp=B)).tolist() == [[2, 2]]


def check_data_that_differs():
    x = flow.ones(2, placement=PAIR, sbp=B)
    os.environ["ONEFLOW_CHECK_GLOBAL_DATA"] = "1"
    assert (x + np.ones(2, np.float32)).tolist() == [2, 2]
    flow.ones(2, placement=FIRST, sbp=B) + np.full(2, RANK, np.float32)
    try:
        x + np.full(2, RANK, np.float32)
    except ValueError as error:
        assert "rank(s) [1]" in str(error), error  # noqa: PT017
    else:
        raise AssertionError
    del os.environ["ONEFLOW_CHECK_GLOBAL_DATA"]


for name, check in list(globals().items()):
    if name.startswith("check_"):
        check()
