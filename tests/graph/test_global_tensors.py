"""Graphs on a placement: data, tensor and mixed parallelism give what one device gives."""

import copy

import numpy as np
import pytest

import oneflow as flow
from tests.graph.helpers import TrainGraph, graph_of

S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])


def make_net():
    flow.manual_seed(0)
    return flow.nn.Sequential(
        flow.nn.Linear(6, 8), flow.nn.ReLU(), flow.nn.Dropout(0.2), flow.nn.Linear(8, 4)
    )


class Training(flow.nn.Graph):
    def __init__(self, net, optimizer, steps=1):
        super().__init__()
        self.net = net
        self.loss = flow.nn.CrossEntropyLoss()
        self.add_optimizer(optimizer)
        self.config.set_gradient_accumulation_steps(steps)

    def build(self, x, y):
        logits = self.net(x)
        loss = self.loss(logits, y)
        loss.backward()
        return loss, logits


MADE = {
    "ones": lambda where: flow.ones(4, 2, **where) * 2,
    "randn": lambda where: flow.randn(4, 2, **where),
    "arange": lambda where: flow.arange(4, **where) + 1,
    "full": lambda where: flow.full((4,), flow.ones(4, **where).sum(), **where),
    "tensor": lambda where: flow.tensor([1.0, 2.0, 3.0, 4.0], **where) - 1,
    "eye and zeros": lambda where: flow.eye(4, **where) @ flow.zeros(4, 3, **where),
}


@pytest.mark.parametrize("sbp", [S(0), B])
@pytest.mark.parametrize("name", MADE)
def test_a_graph_of_nothing_runs_where_it_makes_tensors(name, sbp):
    made = MADE[name]
    flow.manual_seed(0)
    expected = made({})
    graph = graph_of(lambda: made({"placement": PAIR, "sbp": sbp}))
    flow.manual_seed(0)
    result = graph()
    assert result.placement == PAIR
    np.testing.assert_array_equal(result.numpy(), expected.numpy())


@pytest.mark.parametrize("sbp", [S(0), B])
def test_a_graph_of_nothing_runs_where_its_reader_reads(sbp):
    reader = flow.nn.CoinFlip(8, 1, 0.5, placement=PAIR, sbp=sbp)
    alike = flow.nn.CoinFlip(8, 1, 0.5)
    graph = graph_of(lambda: reader() + 1)
    for _ in range(3):
        result = graph()
        assert (result.placement, result.sbp) == (PAIR, (sbp,))
        np.testing.assert_array_equal(result.numpy(), alike().numpy() + 1)


def test_a_graph_of_local_tensors_makes_no_global_ones():
    graph = graph_of(lambda x: x + flow.ones(2, placement=PAIR, sbp=B))
    with pytest.raises((RuntimeError, ValueError)):
        graph(flow.ones(2))


def lie(tensor, placement, sbp):
    return tensor.to_global(placement, [B] * placement.ndim).to_global(sbp=sbp)


def losses_of(net, x, y, steps=1, calls=5):
    optimizer = flow.optim.AdamW(net.parameters(), lr=0.05)
    graph = Training(net, optimizer, steps)
    flow.manual_seed(3)
    return [graph(x, y)[0].numpy() for _ in range(calls)]


def data():
    flow.manual_seed(1)
    return flow.randn(8, 6), flow.randint(0, 4, (8,))


PLANS = {
    "data": (PAIR, (S(0),), {}),
    "tensor": (PAIR, (B,), {"0.weight": (S(0),), "0.bias": (S(0),), "3.weight": (S(1),)}),
    "data and tensor": (
        GRID,
        (S(0), B),
        {"0.weight": (B, S(0)), "0.bias": (B, S(0)), "3.weight": (B, S(1))},
    ),
    "tensor in two dimensions": (
        GRID,
        (B, B),
        {"0.weight": (S(0), S(1)), "3.weight": (S(1), S(0))},
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("plan", PLANS)
def test_parallel_training_equals_one_device(plan):
    placement, rows, weights = PLANS[plan]
    x, y = data()
    expected = losses_of(make_net(), x, y)
    net = make_net().to_global(placement, [B] * placement.ndim)
    for name, parameter in net.named_parameters():
        if name in weights:
            parameter.data = parameter.data.to_global(sbp=weights[name])
    found = losses_of(net, lie(x, placement, rows), lie(y, placement, rows))
    np.testing.assert_allclose(found, expected, rtol=2e-5)
    for name, parameter in net.named_parameters():
        assert parameter.sbp == weights.get(name, (B,) * placement.ndim)


def test_micro_batches_of_split_rows():
    x, y = data()
    flow.manual_seed(0)
    net = flow.nn.Sequential(flow.nn.Linear(6, 4))
    twin = copy.deepcopy(net).to_global(PAIR, B)
    expected = losses_of(net, x, y)
    graph = Training(twin, flow.optim.AdamW(twin.parameters(), lr=0.05), 4)
    rows = lie(x, PAIR, S(0)), lie(y, PAIR, B)
    results = [graph(*rows) for _ in range(5)]
    means = [loss.numpy().mean() for loss, _ in results]
    np.testing.assert_allclose(means, expected, rtol=2e-5)
    assert results[0][0].shape == (4,)
    # The rows come back in their order.
    flow.manual_seed(0)
    first = flow.nn.Linear(6, 4)(x)
    np.testing.assert_allclose(results[0][1].numpy(), first.numpy(), rtol=1e-5, atol=1e-6)


def test_micro_batches_of_split_rows_are_split_as_the_rows_are():
    splits = []

    class Accumulating(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.net = flow.nn.Linear(6, 4).to_global(PAIR, B)
            self.add_optimizer(flow.optim.SGD(self.net.parameters(), lr=0.1))
            self.config.set_gradient_accumulation_steps(4)

        def build(self, x):
            splits.append(x.sbp)
            loss = self.net(x).sum()
            loss.backward()
            return loss

    Accumulating()(flow.ones(16, 6, placement=PAIR, sbp=S(0)))
    assert set(splits) == {(S(0),)}


def test_in_place_in_a_graph_keeps_the_layout():
    class Add(flow.nn.Graph):
        def build(self, x):
            y = x * 2
            y.add_(1)
            return y

    x = flow.tensor(np.arange(8.0), placement=PAIR, sbp=S(0))
    y = Add()(x)
    assert y.sbp == (S(0),)
    np.testing.assert_array_equal(y.numpy(), np.arange(8) * 2 + 1)


def test_listings_show_placement_and_sbp():
    net = make_net().to_global(PAIR, B)
    graph = Training(net, flow.optim.SGD(net.parameters(), lr=0.1))
    x, y = data()
    graph(lie(x, PAIR, S(0)), lie(y, PAIR, S(0)))
    assert "sbp=(oneflow.sbp.split(dim=0),)" in repr(graph)


LINE = flow.placement("cpu", [0, 1, 2, 3])


def executable_of(graph):
    (step,) = graph._steps.values()
    return step.executable


def train_with_zero(stage, calls=4):
    flow.manual_seed(0)
    net = flow.nn.Sequential(
        flow.nn.Linear(32, 64), flow.nn.ReLU(), flow.nn.Linear(64, 32, bias=False)
    ).to_global(LINE, B)
    optimizer = flow.optim.Adam(net.parameters(), lr=0.01)
    graph = Training(net, optimizer)
    if stage:
        graph.config.enable_zero(stage=stage, shard_min_size=8)
    flow.manual_seed(1)
    x = flow.randn(16, 32, placement=LINE, sbp=S(0))
    y = flow.randint(0, 32, (16,), placement=LINE, sbp=S(0))
    losses = [graph(x, y)[0].numpy() for _ in range(calls)]
    return losses, net, optimizer, graph


def test_zero_splits_states_gradients_and_parameters():
    expected, _, whole, plain = train_with_zero(0)
    assert {
        tensor.sbp for s in whole.state.values() for tensor in s.values() if flow.is_tensor(tensor)
    } == {(B,)}
    memory = [executable_of(plain).memory().argument_size_in_bytes]
    for stage in (1, 2, 3):
        losses, net, optimizer, graph = train_with_zero(stage)
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        for state in optimizer.state.values():
            assert all(tensor.sbp == (S(0),) for tensor in state.values() if flow.is_tensor(tensor))
        assert net[0].weight.sbp == ((S(0),) if stage == 3 else (B,))
        memory.append(executable_of(graph).memory().argument_size_in_bytes)
    # Adam keeps two numbers per parameter: of three thirds, one stays whole until stage 3.
    assert memory[1] < 0.6 * memory[0]
    assert memory[3] < 0.35 * memory[0]


def test_gradients_are_scattered_not_reduced():
    _, _, _, graph = train_with_zero(2)
    hlo = executable_of(graph).hlo()
    # XLA's own operation gives wrong sums between processes on CPUs.
    assert "reduce-scatter" not in hlo
    assert "all-to-all" in hlo


def test_zero_3_gathers_when_and_where_it_is_needed():
    placement = flow.placement("cpu", range(4))
    layers = [flow.nn.Linear(64, 96), flow.nn.ReLU(), flow.nn.Linear(96, 64)]
    model = flow.nn.Sequential(*layers).to_global(placement, B)
    x = flow.randn(256, 64, placement=placement, sbp=S(0))
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    graph = TrainGraph(model, lambda m, x: m(x).square().mean(), optimizer)
    graph.config.enable_zero(stage=3, shard_min_size=1)
    graph(x)
    (step,) = graph._steps.values()
    program = step.executable.program
    made = {n: instruction for instruction in program.instructions for n in instruction.results}
    gathers = [
        instruction
        for instruction in program.instructions
        if instruction.operation.primitive.name == "boxing"
        and instruction.operation.attributes["source"] == (S(0),)
        and instruction.operation.in_specs[0].shape == (64, 96)
    ]
    # The second layer's weight: for the forward pass, and for the backward pass.
    assert len(gathers) == 2
    sources = [made[gather.operands[0]] for gather in gathers]
    assert [source.operation.primitive.name for source in sources] == ["optimization_barrier"] * 2
    anchors = [made[source.operands[1]].operation.primitive.name for source in sources]
    assert anchors[0] == "relu"
    assert anchors[1] != "relu"


def test_local_tensors_may_lend_their_sizes_to_a_step_on_a_placement():
    """Only a local tensor that leaves `build`, or stays alive, is an error."""
    placement = flow.placement("cpu", [0])

    class Step(flow.nn.Graph):
        def __init__(self, leak):
            super().__init__()
            self.leak, self.alive = leak, []

        def build(self, x):
            sizes = flow.ones(3, 2) + 1
            y = x.reshape(sizes.shape) * sizes.shape[0]
            if self.leak == "state":
                self.alive.append(sizes)
            return (y, sizes) if self.leak == "result" else y

    x = flow.arange(6.0, placement=placement, sbp=flow.sbp.broadcast)
    assert Step(None)(x).tolist() == [[0, 3], [6, 9], [12, 15]]
    for leak in ("result", "state"):
        with pytest.raises(RuntimeError, match=r"`build` made tensors on `cpu"):
            Step(leak)(x)


STATE = flow.zeros(4)
LOCAL_VALUES = {
    "random": lambda: flow.rand(4).to_global(placement=PAIR, sbp=B),
    "dropout": lambda: flow.nn.functional.dropout(flow.ones(4), 0.5).to_global(PAIR, B),
    "state": lambda: (STATE + 1).to_global(PAIR, B),
    "split": lambda: (STATE + 1).to_global(PAIR, S(0)),
    "long": lambda: sum((STATE for _ in range(3000)), STATE).to_global(PAIR, B),
    "moved": lambda: (STATE + 1).to(PAIR),
    "item": lambda: flow.rand(1).item(),
    "number": lambda: float(flow.rand(1) * 2),
    "branch": lambda: 1 if (flow.rand(1) * 2).sum() > 1 else 2,
    "numpy": lambda: (STATE + 1).numpy().sum(),
    "index": lambda: flow.ones(4, placement=PAIR, sbp=B)[flow.arange(3) + 1],
}


@pytest.mark.parametrize("name", LOCAL_VALUES)
def test_values_of_local_tensors_are_no_constants_of_a_step_on_a_placement(name):
    """Each would be the same in every call; the error names the line that used it."""
    step = graph_of(lambda x: (x * LOCAL_VALUES[name]()).sum())
    x = flow.ones(4, placement=PAIR, sbp=B)
    match = r"`build` made tensors on `cpu:0`.*not their values, file .*test_global_tensors.py"
    with pytest.raises(RuntimeError, match=match):
        step(x)


def test_global_tensors_are_no_constants_of_a_step_on_a_device():
    step = graph_of(lambda x: x * flow.rand(4, placement=PAIR, sbp=B).sum().item())
    with pytest.raises(RuntimeError, match=r"`build` made tensors on `oneflow.placement.*values"):
        step(flow.ones(4))


def test_local_tensors_that_only_a_cycle_holds_lend_their_sizes():
    def build(x):
        cycle = [flow.ones(4) + 1]
        cycle.append(cycle)
        return x * cycle[0].shape[0]

    assert graph_of(build)(flow.ones(4, placement=PAIR, sbp=B)).tolist() == [4.0] * 4
