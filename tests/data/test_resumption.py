"""Loaders that go on from a state that was saved in the middle of an epoch."""

import pytest

import oneflow as flow
from oneflow.utils.data import BatchSampler, DataLoader, RandomSampler, Sampler
from tests.data import samples
from tests.data.loaders import generator, numbers, workers


@workers
@pytest.mark.parametrize("stop", [0, 2, 5])
def test_goes_on_with_the_same_batches(num_workers, stop):
    def load():
        return DataLoader(
            samples.Squares(), 2, shuffle=True, generator=generator(), num_workers=num_workers
        )

    whole = [batch["name"] for batch in load()]
    loader = load()
    batches = iter(loader)
    before = [next(batches)["name"] for _ in range(stop)]
    state = loader.state_dict()
    rest = [batch["name"] for batch in batches] + [batch["name"] for batch in loader]
    resumed = load()
    resumed.load_state_dict(state)
    again = [batch["name"] for batch in resumed] + [batch["name"] for batch in resumed]
    assert before + rest[: 5 - stop] == whole
    assert again == rest


def test_random_samples_of_workers_go_on_too():
    def load():
        return DataLoader(samples.Random(), 2, generator=generator(), num_workers=2)

    whole = numbers(load())
    loader = load()
    batches = iter(loader)
    next(batches)
    resumed = load()
    resumed.load_state_dict(loader.state_dict())
    assert numbers(resumed) == whole[1:]


@workers
def test_streams_go_on(num_workers):
    def load():
        return DataLoader(samples.Count(7), 2, num_workers=num_workers)

    whole = numbers(load())
    loader = load()
    batches = iter(loader)
    next(batches), next(batches)
    resumed = load()
    resumed.load_state_dict(loader.state_dict())
    assert numbers(resumed) == whole[2:]


class DrawnAtIter(Sampler):
    """A user's sampler, which draws its order in `iter()`."""

    def __init__(self, generator):
        self.generator = generator

    def __iter__(self):
        return iter(flow.randperm(12, generator=self.generator).tolist())

    def __len__(self):
        return 12


class DrawnOneByOne(DrawnAtIter):
    def __iter__(self):
        for _ in range(12):
            yield flow.randint(0, 100, (), generator=self.generator).item() % 12


def loader_of(source, seed, num_workers):
    """A loader of 6 batches, and its generators."""
    own, other = generator(seed), generator(seed + 1)
    drawn = RandomSampler(range(12), generator=own)
    options = {
        "default": {"shuffle": True},
        "generator": {"shuffle": True, "generator": own},
        "sampler": {"sampler": drawn},
        "replacement": {"sampler": RandomSampler(range(12), True, generator=own)},
        "default sampler": {"sampler": RandomSampler(range(12)), "generator": own},
        "two": {"sampler": drawn, "generator": other},
        "batch sampler": {"batch_sampler": BatchSampler(drawn, 2, False)},
        "drawn at iter": {"sampler": DrawnAtIter(own)},
        "drawn at iter by default": {"sampler": DrawnAtIter(None)},
        "one by one": {"sampler": DrawnOneByOne(own)},
        "one by one by default": {"sampler": DrawnOneByOne(None)},
    }[source]
    if "batch_sampler" not in options:
        options["batch_size"] = 2
    options.update(num_workers=num_workers, persistent_workers=num_workers > 0)
    return DataLoader(range(12), **options), (flow.default_generator, own, other)


def resumption(source, num_workers, stop, draw):
    """Return the batches behind a saved state, of that loader and of two that go on from it.

    `draw(generators)` is called between every two steps, behind saving as often in each of them.
    """

    def rest(loader, generators, batches):
        draw(generators)
        result = numbers(batches)
        draw(generators)
        return result + numbers(loader)

    def resume(seed, state, random_state):
        flow.manual_seed(seed)
        loader, generators = loader_of(source, seed, num_workers)
        draw(generators)
        loader.load_state_dict(state)
        flow.set_rng_state(random_state)
        return loader, generators

    flow.manual_seed(3)
    loader, generators = loader_of(source, 5, num_workers)
    draw(generators)
    batches = iter(loader)
    for _ in range(stop):
        draw(generators)
        next(batches)
    draw(generators)
    saved = loader.state_dict(), flow.get_rng_state()
    draw(generators)
    results = [rest(loader, generators, batches)]

    loader, generators = resume(7, *saved)
    loader.load_state_dict(loader.state_dict())
    draw(generators)
    batches = iter(loader)
    saved = loader.state_dict(), flow.get_rng_state()
    results.append(rest(loader, generators, batches))

    loader, generators = resume(9, *saved)
    return [*results, rest(loader, generators, iter(loader))]


def draw_from_each(generators):
    for source in generators:
        flow.rand(3, generator=source)


ORDERS_AT_ONCE = [
    "default",
    "generator",
    "sampler",
    "replacement",
    "default sampler",
    "two",
    "batch sampler",
    "drawn at iter",
    "drawn at iter by default",
]


@pytest.mark.parametrize("stop", [0, 1, 3, 6])
@pytest.mark.parametrize("source", ORDERS_AT_ONCE)
def test_goes_on_whatever_is_drawn_between(source, stop):
    first, *others = resumption(source, 0, stop, draw_from_each)
    assert others == [first, first]


@pytest.mark.parametrize("source", ["default", "two", "batch sampler"])
def test_workers_go_on_whatever_is_drawn_between(source):
    first, *others = resumption(source, 1, 2, draw_from_each)
    assert others == [first, first]


@pytest.mark.parametrize(("num_workers", "stop"), [(0, 0), (0, 1), (0, 3), (1, 2)])
@pytest.mark.parametrize("source", ["one by one", "one by one by default"])
def test_a_sampler_that_draws_each_number_goes_on(source, num_workers, stop):
    first, *others = resumption(source, num_workers, stop, lambda generators: None)
    assert others == [first, first]


def test_the_default_generator_is_left_where_it_is():
    def load():
        return DataLoader(range(6), shuffle=True)

    flow.manual_seed(3)
    loader = load()
    batches = iter(loader)
    next(batches)
    flow.rand(1)
    state, random_state = loader.state_dict(), flow.get_rng_state()
    rest, after = numbers(batches), flow.rand(2).tolist()
    flow.manual_seed(99)
    flow.set_rng_state(random_state)
    resumed = load()
    resumed.load_state_dict(state)
    assert numbers(resumed) == rest
    assert flow.rand(2).tolist() == after


def test_state_of_a_loader_survives_saving(tmp_path):
    loader = DataLoader(range(6), shuffle=True, generator=generator())
    batches = iter(loader)
    next(batches)
    flow.save(loader.state_dict(), tmp_path / "loader")
    resumed = DataLoader(range(6), shuffle=True, generator=generator(7))
    resumed.load_state_dict(flow.load(tmp_path / "loader"))
    assert resumed.state_dict()["batches"] == 1
    assert numbers(resumed) == numbers(batches)
    assert numbers(resumed) == numbers(loader)


@pytest.mark.parametrize("stop", [None, 0, 2])
@pytest.mark.parametrize("is_batched", [False, True])
@pytest.mark.parametrize("replacement", [False, True])
def test_a_generator_of_the_sampler_goes_on_too(replacement, is_batched, stop):
    """In the second epoch, before it (None) and within it."""

    def load(seed):
        sampler = RandomSampler(range(8), replacement, generator=generator(seed))
        if is_batched:
            return DataLoader(range(8), batch_sampler=BatchSampler(sampler, 2, False))
        return DataLoader(range(8), 2, sampler=sampler)

    loader = load(5)
    list(loader)
    batches = iter([])
    if stop is not None:
        batches = iter(loader)
        for _ in range(stop):
            next(batches)
    state = loader.state_dict()
    rest = numbers(batches) + numbers(loader)
    resumed = load(7)
    resumed.load_state_dict(state)
    assert (numbers(resumed) if stop is not None else []) + numbers(resumed) == rest


def test_between_epochs_the_state_is_the_generator():
    loader = DataLoader(range(6), shuffle=True, generator=generator())
    list(loader)
    resumed = DataLoader(range(6), shuffle=True, generator=generator(7))
    resumed.load_state_dict(loader.state_dict())
    assert numbers(resumed) == numbers(loader)


@pytest.mark.parametrize("state", [{}, {"batches": 2, "generator": None, "begin": None}])
def test_other_states_are_refused(state):
    with pytest.raises(ValueError, match=r"`state_dict` lacks .*'generators'.* earlier version"):
        DataLoader(range(6)).load_state_dict(state)
