"""Rows on global tensors: placements, SBP and ZeRO. One process plays all ranks here."""

import itertools

import numpy as np

import oneflow as flow

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])


def test_s000_17_consistent_tensors():
    x = flow.randn(2, 5).to_consistent(placement=flow.placement("cpu", {0: [0, 1]}), sbp=S(0))
    assert x.shape == (4, 5)
    assert x.is_consistent
    assert x.to_local().shape == (2, 5)


def test_s000_18_the_sbp_of_a_product_is_inferred():
    x = flow.randn(4, 5, placement=PAIR, sbp=S(0))
    w = flow.randn(5, 8, placement=PAIR, sbp=B)
    assert flow.matmul(x, w).sbp == (S(0),)
    assert flow.matmul(x.to_global(sbp=B), w.to_global(sbp=S(1))).sbp == (S(1),)


def train(net, x, y):
    optimizer = flow.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        loss = flow.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def test_s000_19_hybrid_training_equals_one_device():
    flow.manual_seed(0)
    net, x, y = flow.nn.Linear(6, 4), flow.randn(8, 6), flow.randn(8, 4)
    twin = flow.nn.Linear(6, 4)
    twin.load_state_dict(net.state_dict())
    expected = train(net, x, y)
    twin.to_global(GRID, (B, B))
    twin.weight.data = twin.weight.data.to_global(sbp=(B, S(0)))
    rows = [each.to_global(GRID, (B, B)).to_global(sbp=(S(0), B)) for each in (x, y)]
    np.testing.assert_allclose(train(twin, *rows), expected, rtol=1e-4)


def test_s001_36_in_place_in_a_graph():
    class Add(flow.nn.Graph):
        def build(self, x):
            y = x * 2
            y.add_(1)
            return y

    x = flow.tensor(np.arange(6.0), placement=PAIR, sbp=S(0))
    eager = x * 2
    eager.add_(1)
    result = Add()(x)
    assert result.sbp == eager.sbp == (S(0),)
    np.testing.assert_array_equal(result.numpy(), eager.numpy())


def test_s001_59_rows_and_columns():
    local_x, local_w = flow.randn(4, 6), flow.randn(8, 6)
    x = local_x.to_global(GRID, (B, B)).to_global(sbp=(S(0), B))
    w = local_w.to_global(flow.placement("cpu", {0: [0, 1, 2, 3]}, (2, 2)), (B, B))
    y = x @ w.to_global(sbp=(B, S(0))).T
    assert y.sbp == (S(0), S(1))
    np.testing.assert_allclose(y.numpy(), (local_x @ local_w.T).numpy(), rtol=1e-5, atol=1e-6)


def test_s001_60_from_one_dimension_to_two():
    whole = np.arange(32.0).reshape(8, 4)
    line = flow.placement("cpu", [0, 1, 2, 3])
    for source in (S(0), S(1), B, P):
        x = flow.tensor(whole, placement=line, sbp=source)
        for pair in itertools.product((S(0), S(1), B), repeat=2):
            moved = x.to_global(placement=GRID, sbp=pair)
            assert moved.sbp == pair
            np.testing.assert_array_equal(moved.numpy(), whole)


def test_s001_61_from_numpy():
    x = flow.tensor(np.arange(4.0), placement=PAIR, sbp=S(0))
    assert x.to_local().shape == (2,)


class Step(flow.nn.Graph):
    def __init__(self, net, optimizer, mode):
        super().__init__()
        self.net = net
        self.add_optimizer(optimizer)
        if mode:
            self.config.set_zero_redundancy_optimizer_mode(mode)
            self.config.set_zero_redundancy_optimizer_min_size_after_split(1)

    def build(self, x):
        loss = self.net(x).pow(2).mean()
        loss.backward()
        return loss


def states_and_losses(mode):
    flow.manual_seed(0)
    net = flow.nn.Linear(6, 4).to_global(PAIR, B)
    optimizer = flow.optim.Adam(net.parameters(), lr=0.1)
    graph = Step(net, optimizer, mode)
    x = flow.randn(8, 6, placement=PAIR, sbp=S(0))
    losses = [graph(x).item() for _ in range(3)]
    kept = [e for s in optimizer.state.values() for e in s.values() if flow.is_tensor(e)]
    return sum(each.to_local().numel() for each in kept), losses


def test_s003_38_zero_splits_states():
    whole, expected = states_and_losses(None)
    part, losses = states_and_losses("distributed_split")
    assert part == whole / 2
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_s003_39_zero_without_splitting_gradients():
    _, expected = states_and_losses(None)
    _, losses = states_and_losses("non_distributed")
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
