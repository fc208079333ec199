"""Each rank has a seed of its own: global tensors have the numbers of the first one's."""

import numpy as np

import oneflow as flow
from oneflow import nn

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
B, S = flow.sbp.broadcast, flow.sbp.split
WORLD = flow.placement("cpu", list(range(SIZE)))
LOCAL = {"device": "cpu"}
# The seeds of each rank: other seeds again, those of other ranks, equal ones.
SEEDS = [
    [100 + rank for rank in range(SIZE)],
    [99 + rank for rank in range(SIZE)],
    [100, *range(200, 199 + SIZE)],
    [7] * SIZE,
    [7, *range(8, 7 + SIZE)],
    [2**64 - 1 - rank for rank in range(SIZE)],
]


class Dropped(nn.Graph):
    def __init__(self):
        super().__init__()
        self.layer = nn.Dropout(0.5)

    def build(self, x):
        return self.layer(x) + flow.rand_like(x)


def draws(graphs, whole, parts):
    """Numbers of all kinds; `whole` and `parts` say where tensors are made."""
    weight = nn.Parameter(flow.empty(6, **whole))
    nn.init.normal_(weight)
    ones = flow.ones(4 * SIZE, **parts).requires_grad_()
    dropped = nn.functional.dropout(ones, 0.5)
    dropped.sum().backward()
    return [
        flow.randn(5, **whole),
        flow.rand(3 * SIZE, 2, **parts),
        flow.randint(0, 100, (7,), **whole),
        flow.randperm(9, **whole),
        weight.detach(),
        dropped.detach(),
        ones.grad,
        flow.bernoulli(flow.full((20,), 0.5, **whole)),
        graphs[0](flow.ones(8, **whole)),
        graphs[1](flow.ones(4 * SIZE, **parts)),
    ]


on_all, on_one = ((Dropped(), Dropped()) for _ in range(2))
for seeds in SEEDS:
    flow.manual_seed(seeds[RANK])
    shared = draws(on_all, {"placement": WORLD, "sbp": B}, {"placement": WORLD, "sbp": S(0)})
    own = flow.randint(0, 2**40, (3,)).numpy()
    flow.manual_seed(seeds[0])
    for number, pair in enumerate(zip(shared, draws(on_one, LOCAL, LOCAL), strict=True)):
        mine, expected = pair
        if mine.sbp[0] == B:
            copy = mine.to_local().numpy()
            np.testing.assert_array_equal(copy, expected.numpy(), err_msg=f"{number} {seeds}")
        np.testing.assert_array_equal(mine.numpy(), expected.numpy(), err_msg=f"{number} {seeds}")
    everywhere = [None] * SIZE
    flow.distributed.all_gather_object(everywhere, (seeds[RANK], own.tolist()))
    assert len({str(numbers) for _, numbers in everywhere}) == len({seed for seed, _ in everywhere})
