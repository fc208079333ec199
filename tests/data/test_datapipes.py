"""Pipes of samples, as PyTorch's."""

from __future__ import annotations

import pickle

import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by

LIBRARIES = (flow, torch)


class Numbers(flow.utils.data.IterDataPipe):
    def __init__(self, count=3):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))


@pytest.fixture
def pipes():
    """The class of pipes, whose registered functions are those of before afterwards."""
    pipe = flow.utils.data.IterDataPipe
    before = dict(pipe.functions)
    yield pipe
    pipe.functions.clear()
    pipe.functions.update(before)
    pipe.set_reduce_ex_hook(None)


def test_registered_pipes_are_methods(pipes):
    @flow.utils.data.functional_datapipe("doubled")
    class Doubled(flow.utils.data.IterDataPipe):
        def __init__(self, source, more=0):
            self.source, self.more = source, more

        def __iter__(self):
            return (2 * number + self.more for number in self.source)

    pipes.register_function("first", lambda pipe: next(iter(pipe)))
    assert list(Numbers().doubled(more=1).doubled()) == [2, 6, 10]
    assert Numbers().doubled(5).first() == 5
    assert list(Numbers() + Numbers(1)) == [0, 1, 2, 0]
    loader = flow.utils.data.DataLoader(Numbers(4).doubled(), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, 2], [4, 6]]
    with pytest.raises(Exception, match="already taken"):
        flow.utils.data.functional_datapipe("doubled")(Doubled)
    with pytest.raises(AttributeError, match="tripled"):
        Numbers().tripled()


def test_a_hook_says_how_pipes_are_pickled(pipes):
    assert list(pickle.loads(pickle.dumps(Numbers(2)))) == [0, 1]
    pipes.set_reduce_ex_hook(lambda pipe: (Numbers, (pipe.count + 1,)))
    assert list(pickle.loads(pickle.dumps(Numbers(2)))) == [0, 1, 2]
    with pytest.raises(Exception, match="override"):
        pipes.set_reduce_ex_hook(lambda pipe: None)
    pipes.set_reduce_ex_hook(None)

    def refuse(pipe):
        raise NotImplementedError

    pipes.set_reduce_ex_hook(refuse)
    assert list(pickle.loads(pickle.dumps(Numbers(2)))) == [0, 1]


def test_determinism_is_guaranteed():
    tools = flow.utils.data
    always = tools.non_deterministic(Numbers)
    sometimes = tools.non_deterministic(lambda count: count > 3)(Numbers)
    assert list(always(2)) == list(sometimes(2)) == [0, 1]
    with tools.guaranteed_datapipes_determinism():
        assert list(sometimes(2)) == [0, 1]
        with tools.guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="Numbers"):
            always(2)
        with pytest.raises(TypeError, match="non-deterministic"):
            sometimes(4)
    assert list(sometimes(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda data: data.non_deterministic(list),
        lambda data: data.non_deterministic(1),
        lambda data: data.non_deterministic(lambda: 1)(list),
        lambda data: data.non_deterministic(lambda: 1)(data.IterDataPipe)(),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch.utils.data))):
        misuse(flow.utils.data)
