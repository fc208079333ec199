"""Ranks that record different graphs learn so before anything runs; three processes."""

import pytest

import oneflow as flow
from oneflow import nn

RANK = flow.env.get_rank()
PAIR = flow.placement("cpu", [0, 1])
B, S0 = flow.sbp.broadcast, flow.sbp.split(0)


class Scaled(nn.Graph):
    """A layer whose result is multiplied by a number, once or twice."""

    def __init__(self, factor: float = 2.0, twice: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2).to_global(PAIR, B)
        self.factor, self.twice = factor, twice

    def build(self, x):
        y = self.layer(x) * self.factor
        return (y * 3.0 if self.twice else y).sum()


def inputs(rows: int = 4):
    return flow.ones(rows, 4, placement=PAIR, sbp=S0)


def check_error(graph, argument, words: list[str]) -> None:
    """All ranks of the placement, and no others, get an error that says these words per rank."""
    if RANK == 2:
        graph(argument)
        return
    with pytest.raises(RuntimeError, match="have captured different programs") as caught:
        graph(argument)
    _, *shown = str(caught.value).split("\n  rank ")
    assert [line[0] for line in shown] == ["0", "1"]
    assert all(word in line for word, line in zip(words, shown, strict=True)), shown


check_error(Scaled(twice=RANK == 1), inputs(), ["linear(", "= 3.0"])
check_error(Scaled(factor=2.0 + RANK), inputs(), ["= 2.0", "= 3.0"])
check_error(Scaled(), inputs(4 + 2 * RANK), ["float32[4,4]", "float32[6,4]"])

# The ranks that agree go on, one that has no part of the placement too.
graph = Scaled()
for _ in range(2):
    result = graph(inputs())
    if RANK < 2:
        assert result.to_global(sbp=B).to_local().shape == ()
    else:
        assert result.to_local().numel() == 0

for ranks in ([0, 3], [[0, 1], [2, 3]]):
    place = flow.placement("cpu", ranks)
    with pytest.raises(RuntimeError, match="rank 3 does not exist: the job has 3 processes"):
        flow.ones(2, placement=place, sbp=[B] * place.ndim).numpy()
