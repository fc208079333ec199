"""Conversions between SBP: every one, on meshes of one and two dimensions, even and uneven."""

import itertools

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.dtype import ALL_DTYPES
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, split
from oneflow.compiler.sharding import partition_of
from oneflow.primitives.sharding.boxing_path import boxing_path
from oneflow.runtime.shards import local_shard
from oneflow.tensor.views import unwrap
from tests.oracle import eager_mode

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
SIGNATURES = (S(0), S(1), B, P)
LINE = flow.placement("cpu", [0, 1, 2, 3])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def parts(x, placement):
    """The parts of each rank, in the order of ranks."""
    array = unwrap(x).read()
    return [
        np.asarray(local_shard(array, unwrap(x).spec, place)) for place in range(placement.size)
    ]


@pytest.mark.parametrize("shape", [(8, 4), (7, 5), (3, 2)], ids=str)
def test_every_conversion_on_a_line(shape):
    whole = numbers(*shape)
    for source, target in itertools.product(SIGNATURES, repeat=2):
        x = flow.tensor(whole, placement=LINE, sbp=source).to_global(sbp=target)
        assert x.sbp == (target,)
        np.testing.assert_array_equal(x.numpy(), whole, str((source, target)))


@pytest.mark.parametrize("source", list(itertools.product(SIGNATURES, repeat=2)), ids=str)
def test_every_conversion_on_a_grid(source, sample):
    targets = list(itertools.product(SIGNATURES, repeat=2))
    for whole in (numbers(8, 4), numbers(7, 5)):
        x = flow.tensor(whole, placement=GRID, sbp=source)
        owner = f"conversions of {whole.shape} from {source}"
        results = [x.to_global(sbp=sbp) for sbp in sample.choose(targets, 1, owner)]
        for result in results:
            np.testing.assert_array_equal(result.numpy(), whole, f"{source} to {result.sbp}")


def test_parts_are_balanced():
    x = flow.tensor(numbers(5, 2), placement=flow.placement("cpu", [0, 1]), sbp=S(0))
    assert [part.shape for part in parts(x, x.placement)] == [(3, 2), (2, 2)]
    grid = flow.tensor(numbers(5, 3), placement=GRID, sbp=(S(0), S(0)))
    assert [len(part) for part in parts(grid, GRID)] == [2, 1, 1, 1]
    np.testing.assert_array_equal(np.concatenate(parts(grid, GRID)), numbers(5, 3))


def test_fewer_elements_than_devices():
    x = flow.tensor(numbers(2), placement=LINE, sbp=S(0))
    assert [len(part) for part in parts(x, LINE)] == [1, 1, 0, 0]
    np.testing.assert_array_equal((x + 1).numpy(), [1, 2])


def test_partial_sums_add_up_to_the_whole():
    x = flow.tensor(numbers(4), placement=LINE, sbp=S(0)).to_global(sbp=P)
    np.testing.assert_array_equal(np.sum(parts(x, LINE), 0), numbers(4))
    assert x.to_local().shape == (4,)


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        ((PARTIAL_SUM, PARTIAL_SUM), (BROADCAST, BROADCAST), 2),
        ((split(0), PARTIAL_SUM), (split(0), split(0)), 1),
        ((split(0), split(0)), (BROADCAST, split(0)), 3),
    ],
)
def test_steps_of_a_conversion(source, target, kinds):
    _, steps = boxing_path((8, 8), 4, (2, 2), source, target)
    assert len(steps) == kinds


def test_reduce_scatter_moves_half_of_all_reduce():
    scatter, _ = boxing_path((1024, 8), 4, (4,), (PARTIAL_SUM,), (split(0),))
    reduce, _ = boxing_path((1024, 8), 4, (4,), (PARTIAL_SUM,), (BROADCAST,))
    assert scatter < 0.6 * reduce


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_shares_of_negative_zeros_are_negative_zeros(dtype):
    zeros = np.full(8, complex(-0.0, -0.0) if dtype == "complex64" else -0.0, dtype)
    shares = flow.tensor(zeros, placement=LINE, sbp=P).to_global(sbp=S(0)).numpy()
    assert np.signbit(shares.real).all()
    assert np.signbit(shares.imag).all() or dtype != "complex64"


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_every_dtype_keeps_its_values(dtype, sample):
    whole = (numbers(5, 4) % 3).astype(dtype.numpy)
    conversions = list(itertools.product(SIGNATURES, repeat=2))
    for source, target in sample.choose(conversions, 3, f"conversions of {dtype}"):
        x = flow.tensor(whole, placement=LINE, sbp=source).to_global(sbp=target)
        assert x.numpy().dtype == unwrap(x).read().dtype == dtype.numpy
        np.testing.assert_array_equal(x.numpy(), whole, str((source, target)))


def test_sums_of_truth_values():
    x = flow.tensor([True, False]).to_global(LINE, P)
    assert x.tolist() == [True, False]
    assert (~x).tolist() == [False, True]
    assert x.float().tolist() == [1, 0]
    assert (x * flow.tensor(2.0, placement=LINE, sbp=B)).tolist() == [2, 0]
    halves = flow.tensor([True, False, True, False], placement=LINE, sbp=S(0)).to_global(sbp=P)
    assert halves.tolist() == [True, False, True, False]
    rows = flow.tensor([True, False, True], placement=LINE, sbp=S(0))
    assert rows[flow.tensor([2, 1], placement=LINE, sbp=B)].numpy().dtype == bool


def test_sums_that_wrap_around():
    x = flow.full((2,), 100, dtype=flow.uint8).to_global(LINE, P)
    assert x.long().tolist() == [144, 144]
    assert x.sum().item() == 288


def test_other_placements():
    x = flow.tensor(numbers(6, 2), placement=LINE, sbp=S(0))
    other = flow.placement("cpu", [4, 5])
    for placement in (other, GRID, flow.placement("cpu", [0, 1]), flow.placement("cpu", [5, 3])):
        moved = x.to_global(placement, [S(0)] * placement.ndim)
        assert moved.placement is placement
        np.testing.assert_array_equal(moved.numpy(), numbers(6, 2))


def test_gradients_go_back_through_conversions():
    local = flow.tensor(numbers(2, 3), requires_grad=True)
    x = local.to_global(LINE, S(0))
    moved = x.to_global(sbp=B).to_global(flow.placement("cpu", [4, 5]), S(1))
    (moved * moved).sum().backward()
    np.testing.assert_array_equal(local.grad.numpy(), 2 * numbers(2, 3))
    assert not local.grad.is_global


@pytest.mark.parametrize(
    ("placement", "sbp"), [(LINE, S(0)), (LINE, S(1)), (GRID, [S(0), S(0)]), (GRID, [S(1), B])]
)
def test_gradients_of_uneven_parts(placement, sbp):
    x = flow.tensor(numbers(5, 7), placement=placement, sbp=sbp, requires_grad=True)
    (x.to_local() * 3).sum().backward()
    assert x.grad.sbp == x.sbp
    np.testing.assert_array_equal(x.grad.numpy(), np.full((5, 7), 3.0))


def test_grad_sbp():
    x = flow.tensor(numbers(4, 4), placement=LINE, sbp=S(0), requires_grad=True)
    y = x * 1
    y.retain_grad()
    z = y.to_global(sbp=B, grad_sbp=S(1))
    z.sum().backward()
    assert y.grad.sbp == (S(1),)
    assert x.grad.sbp == (S(0),)


def test_to_local_and_back_has_gradients():
    x = flow.tensor(numbers(4, 2), placement=LINE, sbp=B, requires_grad=True)
    (x.to_local() * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((4, 2), 3.0))


def test_in_place_keeps_the_layout():
    x = flow.tensor(numbers(4, 4), placement=LINE, sbp=S(0))
    y = flow.tensor(numbers(4, 4), placement=LINE, sbp=S(1))
    x.add_(y)
    assert x.sbp == (S(0),)
    np.testing.assert_array_equal(x.numpy(), 2 * numbers(4, 4))
    x[1:3, 0] = 7
    assert x.sbp == (S(0),)
    assert x.numpy()[:, 0].tolist() == [0, 7, 7, 24]


@pytest.mark.parametrize("placement", [LINE, GRID], ids=["line", "grid"])
def test_results_have_the_partitions_that_arguments_have(placement):
    # JAX prepares a program again, where signal handlers run, for an array with another one.
    signatures = list(itertools.product(SIGNATURES, repeat=placement.ndim))
    with eager_mode("compiled"):
        for sbp, target in zip(signatures, reversed(signatures), strict=True):
            x = flow.tensor(numbers(8, 4), placement=placement, sbp=sbp)
            weight = flow.ones(4, 3, placement=placement, sbp=target, requires_grad=True)
            (x @ weight).square().sum().backward()
            for tensor in (x, x * 0.5, x.to_global(sbp=target), weight, weight.grad):
                value = unwrap(tensor)
                expected = tuple(partition_of(value.spec))
                assert tuple(value.read().sharding.spec) == expected, (sbp, value.spec)
