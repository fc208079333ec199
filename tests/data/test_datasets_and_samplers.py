"""Data sets and samplers."""

import copy
import pickle

import numpy as np
import pytest

import oneflow as flow
from oneflow.base import cluster
from oneflow.utils import data
from tests.data.samples import Count, Squares


def generator(seed=1):
    return flow.Generator().manual_seed(seed)


# --- data sets


def test_tensor_dataset():
    rows = flow.arange(6).reshape(3, 2)
    dataset = data.TensorDataset(rows, flow.ones(3))
    assert len(dataset) == 3
    assert dataset[1][0].tolist() == [2, 3]
    with pytest.raises(ValueError, match="Size mismatch"):
        data.TensorDataset(rows, flow.ones(2))


def test_concat_dataset():
    both = data.ConcatDataset([range(3), "ab"])
    assert len(both) == 5
    assert [both[index] for index in (0, 2, 3, 4, -1, -5)] == [0, 2, "a", "b", "b", 0]
    assert both.cumulative_sizes == [3, 5]
    with pytest.raises(IndexError):
        both[5]
    with pytest.raises(ValueError, match="empty"):
        data.ConcatDataset([])
    with pytest.raises(TypeError, match="ChainDataset"):
        data.ConcatDataset([Count()])
    assert len(Squares(2) + Squares(3)) == 5


def test_chain_dataset():
    assert list(Count(2) + Count(3)) == [0, 1, 0, 1, 2]
    with pytest.raises(TypeError, match="only supports IterableDataset"):
        data.ChainDataset([[1, 2]])


def test_subset():
    subset = data.Subset("abcdef", [4, 0, 2])
    assert len(subset) == 3
    assert [subset[0], subset[2]] == ["e", "c"]
    assert subset.__getitems__([1, 0]) == ["a", "e"]


@pytest.mark.parametrize(
    ("lengths", "sizes"), [([3, 7], [3, 7]), ([0.5, 0.5], [5, 5]), ([0.33, 0.33, 0.34], [4, 3, 3])]
)
def test_random_split(lengths, sizes):
    parts = data.random_split(range(10), lengths, generator())
    assert [len(part) for part in parts] == sizes
    assert sorted(index for part in parts for index in part) == list(range(10))
    again = data.random_split(range(10), lengths, generator())
    assert [part.indices for part in parts] == [part.indices for part in again]


def test_random_split_checks_its_lengths():
    with pytest.raises(ValueError, match="does not equal"):
        data.random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="between 0 and 1"):
        data.random_split(range(10), [1.5, -0.5])


# --- samplers


def test_random_sampler():
    sampler = data.RandomSampler(range(100), generator=generator())
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert first == list(data.RandomSampler(range(100), generator=generator()))
    assert len(sampler) == sampler.num_samples == 100


def test_random_sampler_with_more_and_fewer_samples():
    many = list(data.RandomSampler(range(3), num_samples=7, generator=generator()))
    assert sorted(many[:3]) == sorted(many[3:6]) == [0, 1, 2]
    assert len(many) == 7
    few = list(data.RandomSampler(range(50), num_samples=4))
    assert len(set(few)) == 4
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=50))
    assert len(drawn) == 50
    assert set(drawn) <= {0, 1, 2}
    assert list(data.RandomSampler([])) == []


def test_subset_random_sampler():
    sampler = data.SubsetRandomSampler([5, 7, 9], generator())
    assert sorted(sampler) == [5, 7, 9]
    assert len(sampler) == 3


def test_weighted_random_sampler():
    sampler = data.WeightedRandomSampler([0.0, 3.0, 1.0], 4000, generator=generator())
    counts = np.bincount(list(sampler), minlength=3)
    assert counts[0] == 0
    assert counts[1] / counts[2] == pytest.approx(3, rel=0.2)
    different = list(data.WeightedRandomSampler([1, 0, 2, 3], 3, replacement=False))
    assert sorted(different) == [0, 2, 3]
    with pytest.raises(ValueError, match="only 2 have a weight"):
        data.WeightedRandomSampler([1, 0, 2], 3, replacement=False)
    with pytest.raises(ValueError, match="weights"):
        data.WeightedRandomSampler([[1.0]], 1)


@pytest.mark.parametrize(
    "sampler",
    [
        data.RandomSampler(range(20)),
        data.RandomSampler(range(20), replacement=True),
        data.SubsetRandomSampler(range(20)),
        data.WeightedRandomSampler([1.0] * 20, 20),
        data.BatchSampler(data.RandomSampler(range(20)), 4, False),
    ],
    ids=["random", "replacement", "subset", "weighted", "batches"],
)
def test_an_order_is_drawn_with_the_first_number(sampler):
    """PyTorch's samplers are generators, too: a seed set behind `iter()` counts."""
    flow.manual_seed(1)
    state = flow.get_rng_state()
    numbers = iter(sampler)
    assert flow.equal(flow.get_rng_state(), state)
    flow.manual_seed(5)
    order = list(numbers)
    flow.manual_seed(5)
    assert order == list(sampler)


def test_batch_sampler():
    assert list(data.BatchSampler("abcde", 2, False)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(data.BatchSampler(data.SequentialSampler("abcde"), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    with pytest.raises(ValueError, match="batch_size"):
        data.BatchSampler(range(5), 0, False)


@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler_parts_cover_everything(drop_last):
    parts = [
        data.DistributedSampler(range(10), 3, rank, seed=4, drop_last=drop_last)
        for rank in range(3)
    ]
    epochs = []
    for epoch in range(2):
        for part in parts:
            part.set_epoch(epoch)
        epochs.append([list(part) for part in parts])
    for epoch in epochs:
        taken = [index for part in epoch for index in part]
        assert len({len(part) for part in epoch}) == 1
        assert len(taken) == len(set(taken)) == 9 if drop_last else set(taken) == set(range(10))
    assert epochs[0] != epochs[1]


def test_distributed_sampler_takes_the_launchers_numbers(monkeypatch):
    monkeypatch.setattr(cluster, "_membership", cluster.Membership(rank=2, world_size=4))
    sampler = data.distributed.DistributedSampler(range(8), shuffle=False)
    assert list(sampler) == [2, 6]
    assert list(data.DistributedSampler(range(2), 5, 4, shuffle=False)) == [0]
    with pytest.raises(ValueError, match="Invalid rank"):
        data.DistributedSampler(range(8), 2, 2)


def test_data_sets_side_by_side():
    pairs, named = data.StackDataset(range(3), "abc"), data.StackDataset(n=range(3), text="abc")
    assert len(pairs) == len(named) == 3
    assert (pairs[1], named[1]) == ((1, "b"), {"n": 1, "text": "b"})
    (batch,) = data.DataLoader(named, batch_size=3)
    assert (batch["n"].tolist(), batch["text"]) == ([0, 1, 2], ["a", "b", "c"])
    with pytest.raises(ValueError, match="Size mismatch"):
        data.StackDataset(range(3), range(4))
    for datasets, by_name in (((), {}), ((range(1),), {"n": range(1)})):
        with pytest.raises(ValueError, match="not both"):
            data.StackDataset(*datasets, **by_name)


FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


@pytest.mark.parametrize("name", [*FIXED, "timeout", "collate_fn", "other"])
def test_options_of_a_loader_are_assigned_by_its_constructor_alone(name):
    class Named(data.DataLoader):
        def __init__(self, *args, **options):
            self.batch_size = 7  # before the constructor everything is
            super().__init__(*args, **options)
            self.note = "after"

    for kind in (data.DataLoader, Named):
        loader = kind(range(4), batch_size=2)
        before = getattr(loader, name, None)
        if name not in FIXED:
            setattr(loader, name, before)
            continue
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after"):
            setattr(loader, name, before)
        assert getattr(loader, name) is before
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_loaders_of_users_may_assign_options_as_in_pytorch():
    class _Repeated:
        def __init__(self, batches):
            self.batches = batches

        def __iter__(self):
            while True:
                yield from self.batches

    class Repeating(data.DataLoader):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self._DataLoader__initialized = False
            self.batch_sampler = _Repeated(self.batch_sampler)
            self._DataLoader__initialized = True
            self.iterator = super().__iter__()

        def __iter__(self):
            return (next(self.iterator) for _ in range(3))

    loader = Repeating(range(5), batch_size=2)
    assert [[batch.tolist() for batch in loader] for _ in range(2)] == [[[0, 1], [2, 3], [4]]] * 2
    with pytest.raises(ValueError, match="batch_sampler attribute"):
        loader.batch_sampler = None


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_copies_of_tensor_data_sets_hold_tensors(copied):
    dataset = copied(data.TensorDataset(flow.ones(2, 3), flow.arange(2)))
    assert [type(part) for part in dataset[0]] == [flow.Tensor, flow.Tensor]
    assert dataset[1][1].item() == 1
