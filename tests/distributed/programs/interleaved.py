"""Communication of different kinds, one after the other without reading anything in between.

All of it sends equally many bytes, so that results which were exchanged for each other would look
well; numbers tell which is which.
"""

import random

import numpy as np

import oneflow as flow
from oneflow import nn

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split
WORLD = flow.placement("cpu", list(range(SIZE)))
FIRST, LAST = flow.placement("cpu", [0]), flow.placement("cpu", [SIZE - 1])
WIDTH = 384
COUNT = 4 * SIZE * WIDTH
STEPS = 50


def slowly(x, identity):
    """The same numbers, later."""
    for _ in range(20):
        x = x @ identity
    return x


class Pipeline(nn.Graph):
    """Copies to the last rank and back, in parts."""

    def __init__(self):
        super().__init__()
        self.identities = [
            flow.eye(WIDTH, placement=placement, sbp=B) for placement in (FIRST, LAST)
        ]
        self.config.set_gradient_accumulation_steps(2)

    def build(self, x):
        there = slowly(x, self.identities[0]).to_global(LAST, B)
        return there + 1, slowly(there, self.identities[1]).to_global(FIRST, B) + 2


def numbers(step):
    return np.arange(COUNT, dtype=np.float32) + 7 * step


def own(step):
    return slowly(flow.tensor(numbers(step) + RANK).view(-1, WIDTH), identity).view(-1)


def reduced(step):
    total = own(step)
    work = flow.distributed.all_reduce(total, async_op=step % 2 == 0)
    yield total, SIZE * numbers(step) + sum(range(SIZE)), work


def gathered(step):
    whole = flow.empty(SIZE * COUNT)
    flow.comm.all_gather_into_tensor(whole, own(step))
    yield whole, np.concatenate([numbers(step) + rank for rank in range(SIZE)]), None


def sent(step):
    x = flow.tensor(numbers(step), placement=FIRST, sbp=B)
    yield x.to_global(LAST, B), numbers(step), None


def sent_back(step):
    x = flow.tensor(numbers(step), placement=LAST, sbp=B)
    yield x.to_global(FIRST, B), numbers(step), None


def spread(step):
    x = flow.tensor(numbers(step), placement=LAST, sbp=B)
    yield x.to_global(WORLD, S(0)), numbers(step), None


def converted(step):
    x = own(step).to_global(WORLD, P)
    yield x.to_global(sbp=S(0)), SIZE * numbers(step) + sum(range(SIZE)), None


def piped(step):
    x = flow.tensor(numbers(step).reshape(-1, WIDTH), placement=FIRST, sbp=B)
    there, back = graph(x)
    yield there.to_global(FIRST, B), numbers(step) + 1, None
    yield back, numbers(step) + 2, None


def check(tensor, expected, what):
    if tensor.is_global and RANK not in tensor.placement.flat:
        return
    found = tensor
    if tensor.is_global:
        part = tensor.placement.flat.index(RANK)
        if tensor.sbp == (S(0),):
            expected = np.split(expected, tensor.placement.size)[part]
        found = tensor.to_local()
    np.testing.assert_array_equal(found.numpy().reshape(-1), expected, err_msg=what)


graph, identity = Pipeline(), flow.eye(WIDTH)
KINDS = [reduced, gathered, sent, sent_back, spread, converted, piped]
draw = random.Random(0)
results = []
for step in range(STEPS):
    kind = draw.choice(KINDS)
    results += [(kind, step, *result) for result in kind(step)]
for kind, step, tensor, expected, _ in results:
    check(tensor, expected, f"step {step}: {kind.__name__}")
