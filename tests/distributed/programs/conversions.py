"""Conversions of global tensors of every dtype between processes: a sample of them.

Each keeps the values and the dtype, also of the array inside: compared with the whole that every
rank has. Takes the first of the seeds that draw the sample, and how many; messages name the one.
"""

import random
import sys

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.dtype import ALL_DTYPES
from oneflow.primitives.shard_shapes import shard_slices
from oneflow.tensor.views import unwrap

RANK, SIZE = flow.env.get_rank(), flow.env.get_world_size()
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split
SHAPES = [(), (0,), (1,), (5,), (8,), (0, 3), (4, 6), (7, 5), (3, 2, 5)]
RANKS = list(range(SIZE))
PLACEMENTS = [flow.placement("cpu", ranks) for ranks in (RANKS, RANKS[::-1], [0], RANKS[1:])]
if SIZE == 4:
    PLACEMENTS += [flow.placement("cpu", ranks) for ranks in ([[0, 1], [2, 3]], [[0, 2]], [3, 1])]


def numbers(rng, shape, dtype):
    """Numbers that a dtype can hold, negative zeros and infinities among them."""
    whole = rng.integers(0, 2 if dtype is flow.bool else 100, shape)
    if dtype.is_signed:
        whole -= 50
    array = np.asarray(whole.astype(dtype.numpy))
    if array.size > 1 and (dtype.is_floating_point or dtype.is_complex):
        array.flat[0] = -0.0
        array.flat[1] = np.inf
    return array


def layout(draw, shape):
    """A placement and how a tensor lies on it."""
    placement = draw.choice(PLACEMENTS)
    choices = [B, P, *map(S, range(len(shape)))]
    return placement, [draw.choice(choices) for _ in range(placement.ndim)]


def same(found, expected, what):
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    assert found.tobytes() == expected.tobytes(), f"{what}: {found}, expected {expected}"


def check(x, whole, what):
    """Check that a global tensor is `whole`, and that its array and this rank's part are right."""
    placement, sbp = x.placement, x.sbp
    if RANK in placement.flat:
        inner = unwrap(x).read().dtype
        assert inner == whole.dtype, f"{what}: {inner} inside, expected {whole.dtype}"
        if P not in sbp:
            places = np.unravel_index(placement.flat.index(RANK), placement.hierarchy)
            part = whole[shard_slices(whole.shape, placement.hierarchy, sbp, places)]
            same(x.to_local().numpy(), part, f"{what}, part")
    same(x.numpy(), whole, what)


def check_conversion(seed):
    """A global tensor that is brought elsewhere, and back."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    dtype, shape = draw.choice(ALL_DTYPES), draw.choice(SHAPES)
    source, target = layout(draw, shape), layout(draw, shape)
    whole = numbers(rng, shape, dtype)
    what = f"seed {seed}: {dtype.name}{list(shape)} from {source} to {target}"
    x = flow.tensor(whole, placement=source[0], sbp=source[1])
    check(x, whole, f"{what}, before")
    moved = x.to_global(*target)
    check(moved, whole, what)
    if dtype is flow.bool:
        same((~moved).numpy(), ~whole, f"{what}, not")


def check_local(seed):
    """Local tensors that differ by rank as parts of a global one."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    dtype, shape = draw.choice(ALL_DTYPES), draw.choice(SHAPES)
    parts = [numbers(rng, shape, dtype) for _ in RANKS]
    sbp = draw.choice([B, *map(S, range(len(shape)))])
    whole = parts[0] if sbp is B else np.concatenate(parts, sbp.dim)
    what = f"seed {seed}: local {dtype.name}{list(shape)} to {sbp}"
    x = flow.tensor(parts[RANK]).to_global(PLACEMENTS[0], sbp)
    check(x, whole, what)
    same(x.to_local().numpy(), parts[RANK if sbp is not B else 0], f"{what}, back")


def check_sum(dtype):
    """Partial sums wrap around, round and combine as sums of local tensors do."""
    own = flow.tensor(np.asarray([RANK, 100, 1, 0])).to(dtype)
    others = [flow.tensor(np.asarray([rank, 100, 1, 0])).to(dtype) for rank in RANKS]
    whole = sum(others[1:], others[0]).numpy()
    x = own.to_global(PLACEMENTS[0], P)
    for sbp in (B, S(0)):
        check(x.to_global(sbp=sbp), whole, f"sum of {dtype.name} to {sbp}")
    wide = flow.complex128 if dtype.is_complex else flow.float64
    same(x.to(wide).numpy(), whole.astype(wide.numpy), f"sum of {dtype.name}, converted")


class Masked(flow.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", flow.tensor([True, False, True, RANK == 0]))


def check_masks():
    """A truth value that is broadcast is one on all ranks, wherever it goes."""
    mask = Masked().to_global(PLACEMENTS[0], B).mask
    ones = flow.ones(4, placement=PLACEMENTS[0], sbp=B)
    assert ones.masked_fill(~mask, 0).tolist() == [1, 0, 1, 1]
    assert (~mask).sum().item() == 1
    assert flow.where(~mask, ones, ones * 2).tolist() == [2, 1, 2, 2]
    for placement in (PLACEMENTS[2], PLACEMENTS[3], PLACEMENTS[0]):
        mask = mask.to_global(placement, B)
        same(mask.numpy(), np.array([True, False, True, True]), f"mask on {placement}")
    rows = mask.to_global(sbp=S(0))[flow.tensor([2, 1], placement=PLACEMENTS[0], sbp=B)]
    same(rows.numpy(), np.array([True, False]), "rows of a mask")


def check_outside():
    """A rank without a part knows the shape and the dtype of the others' parts."""
    first = PLACEMENTS[2]
    for dtype in (flow.int32, flow.bfloat16, flow.bool):
        own = flow.ones(4, SIZE, dtype=dtype) if RANK in first.flat else flow.zeros(1)
        for sbp in (B, S(0)):
            x = own.to_global(first, sbp)
            assert (x.dtype, x.shape) == (dtype, (4, SIZE)), f"{sbp}: {x.dtype} {x.shape}"
            spread = (x + x).to_global(PLACEMENTS[0], S(1))
            assert spread.sum().item() == 4 * SIZE * (1 if dtype is flow.bool else 2)


def check_disagreement():
    """Ranks that name different placements or SBP learn that in `to_global`, and may go on."""
    others = [(PLACEMENTS[0], [B, S(0)][RANK % 2]), (PLACEMENTS[2 + RANK % 2], B)]
    for placement, sbp in others:
        with pytest.raises(ValueError, match="different placements or SBP") as caught:
            flow.ones(SIZE).to_global(placement, sbp)
        assert f"rank {RANK}: {placement} " in str(caught.value)


first, count = int(sys.argv[1]), int(sys.argv[2])
for seed in range(first, first + count):
    check_conversion(seed)
for seed in range(first, first + count // 2):
    check_local(seed)
for dtype in random.Random(first).sample(ALL_DTYPES, min(count // 2, len(ALL_DTYPES))):
    check_sum(dtype)
check_masks()
check_outside()
check_disagreement()
