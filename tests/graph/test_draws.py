"""Random numbers in graphs: every call draws what eager mode would draw."""

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import graph_of, only_step


def uniform(x):
    return x + flow.rand(3)


def twice_the_same(x):
    """A state that is read while the graph is captured stands for the state in each call."""
    state = flow.get_rng_state()
    first = flow.rand(3)
    flow.set_rng_state(state)
    return x + first + 10 * flow.rand(3)


def forked(x):
    with flow.random.fork_rng():
        first = flow.rand(3)
    return x + first + 10 * flow.rand(3)


def recomputed(x):
    dropped = flow.utils.checkpoint.checkpoint(nn.functional.dropout, x.requires_grad_())
    (dropped * flow.rand(3)).sum().backward()
    return x.grad


def large_number(x):
    """Numbers of the program that look like seeds and streams stay what they are."""
    numbers = (0x5B17_0C4E_9D36_A000, 0x2E93_D750_0000_0000, 67280421310721, 0, 1)
    return flow.rand(3) + sum((x.long() + number) % 1009 for number in numbers)


@pytest.mark.parametrize("build", [uniform, twice_the_same, forked, recomputed, large_number])
def test_calls_of_a_graph_draw_as_eager_calls_do(build):
    graph, x = graph_of(build), flow.ones(3)
    flow.manual_seed(5)
    drawn = [graph(x.clone()).tolist() for _ in range(3)]
    assert len(set(map(tuple, drawn))) == 3
    flow.manual_seed(5)
    eager = [build(x.clone()).tolist() for _ in range(3)]
    np.testing.assert_allclose(drawn, eager, rtol=1e-6)


def test_a_seed_in_a_graph_gives_every_call_the_same_numbers():
    def seeded(x):
        before = flow.rand(3)
        flow.manual_seed(7)
        return x + 10 * flow.rand(3), before

    graph, x = graph_of(seeded), flow.ones(3)
    flow.manual_seed(5)
    drawn = [[tensor.tolist() for tensor in graph(x)] for _ in range(3)]
    flow.manual_seed(5)
    assert drawn == [[tensor.tolist() for tensor in seeded(x)] for _ in range(3)]
    assert drawn[0][0] == drawn[1][0]
    assert drawn[1] == drawn[2]


def test_a_backward_pass_reads_the_numbers_of_the_draw_that_it_repeats():
    def build(x):
        x = x.detach().requires_grad_()
        y = nn.functional.dropout(nn.functional.dropout(x, 0.5), 0.25)
        y.square().sum().backward()
        return x.grad

    graph = graph_of(build)
    graph(flow.ones(8))
    program = only_step(graph).executable.program
    draws = [draw.operands[1:3] for draw in program.instructions if _draws(draw)]
    first, second = draws[:2]
    assert first != second
    assert draws == [first, second, second, first]


def test_a_checkpoint_draws_again_with_numbers_of_its_own():
    """Else the compiler would keep the mask from the first time to the second."""

    def segment(x):
        return nn.functional.dropout(x.exp(), 0.5).square()

    def build(x):
        x = x.detach().requires_grad_()
        flow.utils.checkpoint.checkpoint(segment, x).sum().backward()
        return x.grad

    graph = graph_of(build)
    graph(flow.ones(8))
    program = only_step(graph).executable.program
    streams = [draw.operands[2] for draw in program.instructions if _draws(draw)]
    assert len(set(streams[:2])) == 2


def _draws(instruction):
    return instruction.operation.primitive.name == "dropout"
