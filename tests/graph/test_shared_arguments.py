"""Arguments that a graph knows already: memory of its buffers, its parameters, other history."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import graph_of


class Counter(nn.Module):
    """It counts before it looks at the argument."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", flow.zeros(3))

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        """The double of the argument."""
        self.count.add_(1)
        return x * 2


SHARED = {
    "the buffer": lambda buffer: buffer,
    "a view": lambda buffer: buffer[1:],
    "a detached one": lambda buffer: buffer.detach(),
}


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("argument", SHARED)
def test_memory_of_a_buffer_that_is_written_to_is_refused(argument: str, is_first: bool):
    model = Counter()
    graph = graph_of(lambda x: model(x), model=model)
    x = SHARED[argument](model.count)
    if not is_first:
        graph(x.clone())
    before = model.count.tolist()
    with pytest.raises(
        RuntimeError, match=r"writes to `model\.count`, with which tensor argument 0"
    ):
        graph(x)
    assert model.count.tolist() == before
    expected = (x * 2).tolist()
    assert graph(x.clone()).tolist() == expected


def test_memory_of_what_is_only_read_may_be_given():
    model = nn.Linear(2, 2, bias=False)
    graph = graph_of(lambda x: model(x), model=model)
    x = model.weight.detach()
    assert flow.allclose(graph(x), model(x))


def _training(model: nn.Module, loss: Callable[[flow.Tensor], flow.Tensor]) -> nn.Graph:
    class Train(nn.Graph):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))

        def build(self, x: flow.Tensor) -> flow.Tensor:
            result = loss(x)
            result.backward()
            return result

    return Train()


def test_a_parameter_as_an_argument_of_its_training_is_refused():
    model = nn.Linear(2, 1, bias=False)
    graph = _training(model, lambda x: model(x).sum() + (x * x).sum())
    before = model.weight.tolist()
    with pytest.raises(RuntimeError, match="optimizers would not see the gradient"):
        graph(model.weight)
    assert model.weight.tolist() == before
    graph(flow.ones(1, 2, requires_grad=True))
    with pytest.raises(RuntimeError, match="optimizers would not see the gradient"):
        graph(model.weight)


def test_arguments_that_have_a_history_are_named():
    model = nn.Linear(2, 1)
    graph = _training(model, lambda x: model(x).sum())
    x = flow.ones(3, 2, requires_grad=True)
    with pytest.warns(UserWarning, match="tensor argument 0 was computed of tensors") as caught:
        graph(x * 2)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*compiled again")
        for values in (x * 2, x, x.detach()):
            graph(values)
        inference = graph_of(lambda x: model(x), model=model)
        inference(x * 2)


def test_results_are_tensors_of_the_program_or_have_memory_of_their_own():
    model = nn.Linear(2, 2)

    def several(x: flow.Tensor) -> list[flow.Tensor]:
        double = x * 2
        return [x, model.weight, double, double, x[0], model.weight.detach()]

    x = flow.ones(2)
    results = graph_of(several, model=model)(x)
    assert results[0] is x
    assert results[1] is model.weight
    before = [result.tolist() for result in results]
    with flow.no_grad():
        for result in results[:3]:
            result.add_(1)
    assert [result.tolist() for result in results[3:]] == before[3:]
