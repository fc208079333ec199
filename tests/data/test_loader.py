"""The loader in one process and with workers."""

import os

import numpy as np
import pytest
from jax.tree_util import tree_leaves

import oneflow as flow
from oneflow.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    TensorDataset,
)
from tests.data import samples
from tests.data.loaders import generator, numbers, workers
from tests.data.scripts import run

# --- batches


@workers
def test_batches_of_dicts(num_workers):
    loader = DataLoader(samples.Squares(5), batch_size=2, num_workers=num_workers)
    batches = list(loader)
    assert len(batches) == len(loader) == 3
    assert batches[1]["x"].tolist() == [[2, 2], [3, 3]]
    assert batches[1]["x"].dtype is flow.float32
    assert batches[1]["square"].tolist() == [4, 9]
    assert batches[2]["name"] == ["n4"]
    assert numbers(batch["square"] for batch in loader) == [[0, 1], [4, 9], [16]]


@workers
def test_streams(num_workers):
    loader = DataLoader(samples.Count(7), batch_size=2, num_workers=num_workers)
    expected = {0: [[0, 1], [2, 3], [4, 5], [6]], 2: [[0, 2], [1, 3], [4, 6], [5]]}
    assert numbers(loader) == expected[num_workers]
    short = DataLoader(samples.Count(7), batch_size=2, num_workers=num_workers, drop_last=True)
    assert all(len(batch) == 2 for batch in numbers(short))
    single = DataLoader(samples.Count(3), batch_size=None, num_workers=num_workers)
    assert sorted(single) == [0, 1, 2]


@workers
def test_without_batches(num_workers):
    loader = DataLoader(samples.Squares(3), batch_size=None, num_workers=num_workers)
    found = list(loader)
    assert found[2]["x"].tolist() == [2, 2]
    assert found[2]["square"] == 4


@workers
def test_large_empty_and_plain_parts(num_workers):
    loader = DataLoader(samples.Large(), batch_size=4, num_workers=num_workers)
    image, empty, index = list(loader)[1]
    assert image.shape == (2, 64, 64, 3)
    assert image[1, 5, 5].tolist() == [5, 5, 5]
    assert empty.shape == (2, 0, 5)
    assert index.tolist() == [4, 5]


@workers
def test_collate_functions_keep_what_they_return(num_workers):
    def load(collate):
        return list(DataLoader(range(4), batch_size=2, collate_fn=collate, num_workers=num_workers))

    assert load(samples.keep_list) == [[0, 1], [2, 3]]
    assert load(samples.to_sum) == [1, 5]
    tensor, array, text = load(samples.as_tensors)[1]
    assert isinstance(tensor, flow.Tensor)
    assert isinstance(array, np.ndarray)
    array[0] = 9
    assert (tensor.tolist(), array.tolist(), text) == ([2, 3], [9, 3], "text")


@workers
def test_samples_that_are_tensors(num_workers):
    loader = DataLoader(samples.MakesTensors(), batch_size=2, num_workers=num_workers)
    first, (second,) = list(loader)[1]
    assert first.tolist() == [[2, 2], [3, 3]]
    assert second.tolist() == [2, 3]


def test_tensors_of_arrays_compute_alike_in_workers():
    here, there = (
        list(DataLoader(samples.ComputesWithArrays(), batch_size=2, num_workers=number))
        for number in (0, 2)
    )
    for mine, other in zip(tree_leaves(here), tree_leaves(there), strict=True):
        assert (mine.dtype, mine.tolist()) == (other.dtype, other.tolist())


@workers
def test_samples_that_are_tensors_of_several_types(num_workers):
    (batch,) = DataLoader(samples.MixedTensors(), batch_size=4, num_workers=num_workers)
    assert batch.dtype is flow.float32
    assert batch.tolist() == [[0, 1], [1, 1], [2, 1], [3, 1]]


def test_batches_of_workers_are_written_alone():
    """They lie in the memory that they came in, which lives as long as they do."""
    loader = DataLoader(samples.Large(), batch_size=6, num_workers=1)
    (image, _, _), (again, _, _) = next(iter(loader)), next(iter(loader))
    image.add_(1)
    assert image[:, 0, 0, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert again[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]


@workers
def test_tensor_datasets(num_workers):
    data = TensorDataset(flow.arange(5), flow.arange(10.0).reshape(5, 2))
    loader = DataLoader(data, batch_size=2, num_workers=num_workers)
    reversed_data = flow.utils.data.Subset(data, [4, 3, 2, 1, 0])
    backwards = DataLoader(reversed_data, batch_size=2, num_workers=num_workers)
    assert [batch[0].tolist() for batch in backwards] == [[4, 3], [2, 1], [0]]
    index, rows = list(loader)[1]
    assert index.tolist() == [2, 3]
    assert rows.tolist() == [[4, 5], [6, 7]]
    assert rows.dtype is flow.float32


def test_samplers_and_batch_samplers():
    assert numbers(DataLoader(range(9), sampler=[5, 1, 1], batch_size=2)) == [[5, 1], [1]]
    batches = BatchSampler(range(5), 2, drop_last=True)
    loader = DataLoader(range(5), batch_sampler=batches)
    assert numbers(loader) == [[0, 1], [2, 3]]
    assert len(loader) == 2


# --- order and random numbers


def test_the_order_comes_from_the_generator_and_not_from_the_workers():
    orders = [
        [
            numbers(batch["square"] for batch in loader)
            for loader in [
                DataLoader(samples.Squares(), 3, shuffle=True, generator=generator(), num_workers=n)
            ]
            for _ in range(2)
        ]
        for n in (0, 2, 3)
    ]
    assert orders[0] == orders[1] == orders[2]
    assert orders[0][0] != orders[0][1]


def test_shuffling_follows_manual_seed():
    orders = []
    for _ in range(2):
        flow.manual_seed(5)
        orders.append(numbers(DataLoader(range(9), shuffle=True)))
    assert orders[0] == orders[1] != numbers(DataLoader(range(9)))


def random_batches(num_workers, seed=1, **options):
    loader = DataLoader(
        samples.Random(), 2, generator=generator(seed), num_workers=num_workers, **options
    )
    return [batch.tolist() for _ in range(2) for batch in loader]


def test_random_numbers_in_workers_depend_on_the_batch_only():
    found = random_batches(2)
    assert found == random_batches(3) == random_batches(2, persistent_workers=True)
    assert found != random_batches(2, seed=2)
    drawn = [sample[0] for batch in found for sample in batch]
    assert len(set(drawn)) == len(drawn)


def test_with_a_function_of_its_own_the_user_seeds():
    found = random_batches(2, worker_init_fn=samples.seed_by_number)
    assert found[0][0][0] == pytest.approx(__import__("random").Random(0).random())


def test_workers_know_who_they_are():
    batches = list(DataLoader(samples.About(), batch_size=2, num_workers=2))
    assert [batch[0].tolist() for batch in batches] == [[0, 0], [1, 1]]
    assert batches[0][1].tolist() == [2, 2]
    assert batches[0][2][0].item() != batches[1][2][0].item() != os.getpid()
    assert batches[0][3] == ("About", "About")


def test_xla_does_not_start_in_a_worker_that_needs_no_tensors():
    assert numbers(DataLoader(samples.XlaStarted(), num_workers=1)) == [[0], [0]]


def test_xla_does_not_start_in_a_worker_that_only_makes_tensors_of_arrays():
    (batch, started), _ = DataLoader(samples.TensorsOfArrays(), batch_size=2, num_workers=1)
    assert batch["x"].tolist() == [[[0, 0]] * 3, [[1, 1]] * 3]
    assert batch["y"].tolist() == [0, 1]
    assert started.tolist() == [0, 0]


# --- epochs


def test_persistent_workers_stay_and_forget_an_epoch_that_was_left():
    loader = DataLoader(samples.About(), num_workers=2, persistent_workers=True)
    first = next(iter(loader))[2].tolist()
    again = [batch[2].tolist() for batch in loader]
    assert again[0] == first
    assert loader._pool._processes[0].is_alive()
    counting = DataLoader(range(8), 2, num_workers=2, persistent_workers=True)
    assert next(iter(counting)).tolist() == [0, 1]
    assert numbers(counting) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_two_epochs_at_a_time():
    loader = DataLoader(range(4), num_workers=1)
    one, other = iter(loader), iter(loader)
    assert [next(one).item(), next(other).item(), next(one).item()] == [0, 0, 1]
    shared = DataLoader(range(4), num_workers=1, persistent_workers=True)
    one = iter(shared)
    iter(shared)
    with pytest.raises(RuntimeError, match="another epoch"):
        next(one)


def test_workers_end_with_the_epoch_and_with_the_iterator():
    loader = DataLoader(range(8), num_workers=2)
    batches = iter(loader)
    processes = batches._source._pool._processes
    assert all(process.is_alive() for process in processes)
    del batches
    assert not any(process.is_alive() for process in processes)
    batches = iter(loader)
    processes = batches._source._pool._processes
    assert len(list(batches)) == 8
    assert not any(process.is_alive() for process in processes)
    assert next(batches, "over") == "over"


# --- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"timeout": -1}, "timeout"),
        ({"batch_size": 0}, "batch_size"),
        ({"shuffle": True, "sampler": [0]}, "mutually exclusive"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "mutually exclusive"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor"),
        ({"num_workers": 1, "multiprocessing_context": "clone"}, "clone"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(range(3), **options)


def test_streams_take_no_order():
    for option in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
        with pytest.raises(ValueError, match="IterableDataset"):
            DataLoader(samples.Count(), **option)


# --- whole programs


def test_a_script_without_a_main_guard_works_if_its_data_set_is_importable(tmp_path):
    result = run(
        """
        from oneflow.utils.data import DataLoader
        from tests.data.samples import Squares
        print("started")
        print([b["square"].tolist() for b in DataLoader(Squares(4), 2, num_workers=2)])
        """,
        tmp_path,
    )
    assert result.stdout.splitlines() == ["started", "[[0, 1], [4, 9]]"], result.stderr
    assert result.stderr == ""


DEFINES_ITS_DATA_SET = """
    from oneflow.utils.data import DataLoader, Dataset

    class Mine(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return index

    {guard}
        print([b.tolist() for b in DataLoader(Mine(), 2, num_workers=1)])
    """


def test_a_script_that_defines_its_data_set_needs_no_guard(tmp_path):
    for guard in ("if True:", 'if __name__ == "__main__":'):
        result = run(DEFINES_ITS_DATA_SET.format(guard=guard), tmp_path)
        assert result.stdout == "[[0, 1], [2, 3]]\n", result.stderr


def test_work_of_a_script_that_is_not_under_its_guard_ends_with_advice(tmp_path):
    """Workers import a script that has a guard, and must not start workers of their own."""
    program = DEFINES_ITS_DATA_SET.format(guard="if True:")
    result = run(program + '\n    if __name__ == "__main__":\n        pass\n', tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].endswith("`if __name__ == '__main__':`")


class Lengthy(IterableDataset):
    def __iter__(self):
        return iter(range(5))

    def __len__(self):
        return 5


def test_lengths_of_streams():
    assert len(DataLoader(Lengthy(), 2)) == 3
    assert len(DataLoader(Lengthy(), 2, drop_last=True)) == 2
    assert len(DataLoader(Lengthy(), None)) == 5
    with pytest.raises(TypeError):
        len(DataLoader(samples.Count(), 2))
