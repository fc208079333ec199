"""The raw generator, and `Generator` objects."""

import copy
import pickle

import numpy as np
import pytest

import oneflow as flow
from oneflow.primitives.operators.philox import philox
from oneflow.primitives.operators.random import random_bits
from oneflow.runtime.counters import STATISTICS
from oneflow.runtime.eager_settings import SETTINGS

pytestmark = pytest.mark.usefixtures("jax_x64")

# Counter, key and result of Philox 4x32-10 as published with Random123.
KNOWN_ANSWERS = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF,) * 4,
        (0xFFFFFFFF,) * 2,
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(counter, key, expected):
    found = philox(tuple(map(np.uint32, counter)), tuple(map(np.uint32, key)))
    assert tuple(map(int, found)) == expected


def drawn(seed=1, stream=0, shape=(1 << 18,)):
    """The first word of each element."""
    return np.asarray(random_bits(np.int64(seed), np.int64(stream), shape)[0])


def test_bits_are_balanced():
    bits = np.unpackbits(drawn().view(np.uint8)).reshape(-1, 32).mean(axis=0)
    # Five standard deviations of the mean of 2^18 fair bits.
    assert np.abs(bits - 0.5).max() < 5 * 0.5 / 512


def test_neighbours_are_not_correlated():
    unit = drawn() / 2.0**32 - 0.5
    for lag in (1, 2, 64, 4096):
        assert abs(np.corrcoef(unit[:-lag], unit[lag:])[0, 1]) < 5 / 512


def test_one_changed_bit_changes_half_of_the_bits():
    for other in (drawn(seed=3), drawn(stream=1), drawn(seed=1 + 2**40), drawn(stream=2**40)):
        changed = np.unpackbits((drawn() ^ other).view(np.uint8)).mean()
        assert abs(changed - 0.5) < 5 * 0.5 / np.sqrt(32 * 2**18)


def test_birthday_spacings():
    """Marsaglia's test: equal spacings of 512 birthdays in a year of 2^24 days are Poisson(2)."""
    days = np.sort((drawn(shape=(2048, 512)) >> 8).astype(np.int64), axis=1)
    spacings = np.sort(np.diff(days, axis=1, prepend=0), axis=1)
    repeats = (np.diff(spacings, axis=1) == 0).sum(axis=1)
    expected = 512**3 / 2**26
    assert abs(repeats.mean() - expected) < 5 * np.sqrt(expected / 2048)
    assert abs(repeats.var() / expected - 1) < 0.2


def test_streams_and_words_are_independent():
    first = np.stack([np.asarray(w) for w in random_bits(np.int64(1), np.int64(0), (1 << 16,))])
    second = drawn(stream=1, shape=(1 << 16,))
    table = np.corrcoef(np.concatenate([first, second[None]]).astype(float))
    assert np.abs(table - np.eye(5)).max() < 5 / 256


def test_numbers_depend_on_the_place_only():
    flow.manual_seed(3)
    flat = flow.rand(24).numpy()
    flow.manual_seed(3)
    np.testing.assert_array_equal(flow.rand(2, 3, 4).numpy().ravel(), flat)
    flow.manual_seed(3)
    np.testing.assert_array_equal(flow.rand(100).numpy()[:24], flat)


def test_cold_and_hot_runs_draw_the_same():
    def run():
        flow.manual_seed(3)
        drawn = flow.randn(100), flow.rand(100), flow.randint(0, 9, (100,))
        return np.stack([tensor.numpy() for tensor in drawn])

    first = run()
    for _ in range(SETTINGS.hot_after + 2):
        np.testing.assert_array_equal(run(), first)


def test_new_seeds_and_streams_compile_nothing():
    def run(seed):
        flow.manual_seed(seed)
        return (flow.rand(7) * 2).numpy()

    for seed in range(SETTINGS.hot_after + 2):
        run(seed)
    before = STATISTICS.program_compiles, STATISTICS.operation_compiles, STATISTICS.new_programs
    runs = [run(seed) for seed in (17, 2**63 + 5, -4)]
    after = STATISTICS.program_compiles, STATISTICS.operation_compiles, STATISTICS.new_programs
    assert after == before
    assert len({run.tobytes() for run in runs}) == 3


def test_same_seed_same_numbers():
    one, two = flow.Generator().manual_seed(5), flow.Generator().manual_seed(5)
    first = flow.rand(5, generator=one).numpy()
    np.testing.assert_array_equal(first, flow.rand(5, generator=two).numpy())
    assert not np.array_equal(first, flow.rand(5, generator=one).numpy())


def test_generator_of_its_own_leaves_the_default_one_alone():
    flow.manual_seed(3)
    expected = flow.rand(4).numpy()
    flow.manual_seed(3)
    flow.rand(4, generator=flow.Generator())
    np.testing.assert_array_equal(flow.rand(4).numpy(), expected)


def test_state_goes_on_where_it_was():
    flow.manual_seed(3)
    flow.rand(2)
    state = flow.get_rng_state()
    expected = flow.randn(4).numpy(), flow.randperm(5).numpy()
    flow.manual_seed(99)
    flow.set_rng_state(state)
    found = flow.randn(4).numpy(), flow.randperm(5).numpy()
    for numbers, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(numbers, wanted)
    assert state.dtype is flow.uint8


def test_state_of_the_wrong_form_is_an_error():
    with pytest.raises(TypeError, match="uint8"):
        flow.set_rng_state(flow.zeros(16))
    with pytest.raises(RuntimeError, match="16"):
        flow.set_rng_state(flow.zeros(3, dtype=flow.uint8))


def test_fork_rng_puts_the_state_back():
    flow.manual_seed(3)
    with flow.random.fork_rng():
        flow.manual_seed(8)
        flow.rand(3)
    assert flow.initial_seed() == 3
    with flow.random.fork_rng(enabled=False):
        flow.manual_seed(8)
    assert flow.initial_seed() == 8


def test_seeds():
    assert flow.manual_seed(-1).initial_seed() == 2**64 - 1
    assert flow.initial_seed() == 2**64 - 1
    assert flow.seed() == flow.initial_seed() != 2**64 - 1
    with pytest.raises(RuntimeError, match="64 bits"):
        flow.manual_seed(2**64)
    assert flow.Generator("cpu").device == flow.device("cpu")
    assert flow.Generator().initial_seed() == flow.Generator().initial_seed()


def test_clone_of_a_generator():
    generator = flow.Generator().manual_seed(4)
    flow.rand(2, generator=generator)
    twin = generator.clone_state()
    expected = flow.rand(3, generator=generator).numpy()
    np.testing.assert_array_equal(flow.rand(3, generator=twin).numpy(), expected)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copied_generator_goes_on_from_the_same_state(copied):
    generator = flow.Generator().manual_seed(4)
    flow.rand(2, generator=generator)
    twin = copied(generator)
    expected = flow.rand(3, generator=generator).numpy()
    np.testing.assert_array_equal(flow.rand(3, generator=twin).numpy(), expected)


def test_generator_must_be_one():
    with pytest.raises(TypeError, match="generator"):
        flow.rand(2, generator=7)
