"""The pipes of ``torch.utils.data.datapipes``, compared with PyTorch's."""

from __future__ import annotations

import copy
import io
import json
import pickle
import warnings

import numpy as np
import pytest
import torch
import torch.utils.data.datapipes.utils.decoder
import torch.utils.data.datapipes.utils.snapshot
from PIL import Image

import oneflow as flow
from oneflow.data.pipe_graph import PipeEpoch
from tests.in_place import in_place_of

PIPES = "torch.utils.data.datapipes"
OURS, THEIRS = in_place_of("torch.utils.data"), torch.utils.data
for part in ("utils.decoder", "utils.snapshot", "utils.common"):
    in_place_of(f"{PIPES}.{part}")
in_place_of("torch.utils.data.graph_settings")

WORDS = ["a.png", "b.png", "a.json", "b.json", "a.jpg", "c.json"]


def is_odd(number):
    return number % 2


def is_small(number):
    return number < 3


def double(number):
    return 2 * number


def first(word):
    return word[0]


def add(left, right):
    return left + right


def wrap(data, samples):
    return data.datapipes.iter.IterableWrapper(samples)


def keep(data, samples):
    return data.datapipes.map.SequenceWrapper(samples)


def read_forks(data, pipes):
    """Samples of several pipes, one pipe after the other, twice, and then side by side."""
    one_by_one = [list(pipe) for _ in range(2) for pipe in pipes]
    return one_by_one, list(zip(*pipes, strict=False))


def second_iterator(data, pipe):
    before = iter(pipe)
    next(before)
    after = iter(pipe)
    next(after)
    try:
        next(before)
    except RuntimeError:
        return "invalid", next(after)
    return "valid"


def divided(data, pipe):
    shares = []
    for number in range(3):
        share = copy.deepcopy(pipe)
        data.graph_settings.apply_sharding(share, 3, number)
        shares.append((list(share), len(share)))
    return shares


def restored(data, pipe, count):
    snapshot = data.datapipes.utils.snapshot._simple_graph_snapshot_restoration
    snapshot(pipe, count)
    return list(pipe), pipe._number_of_samples_yielded, list(pipe)


def overflow(data, pipes):
    try:
        return list(pipes[1])
    except BufferError:
        return "overflow"


CASES = {
    "map": lambda data: wrap(data, range(4)).map(double),
    "map of a column": lambda data: wrap(data, [(1, 2), (3, 4)]).map(double, input_col=1),
    "map of columns": lambda data: wrap(data, [(1, 2, 3)]).map(add, input_col=[2, 0]),
    "map into a column": lambda data: wrap(data, [{"a": 1}]).map(double, "a", "b"),
    "map to the end": lambda data: wrap(data, [[1, 2]]).map(double, 0, -1),
    "filter": lambda data: wrap(data, range(6)).filter(is_small),
    "filter by a column": lambda data: wrap(data, [(1, 9), (5, 0)]).filter(is_small, input_col=1),
    "batch": lambda data: wrap(data, range(5)).batch(2),
    "full batches": lambda data: wrap(data, range(5)).batch(2, drop_last=True),
    "unbatch": lambda data: wrap(data, [[[0], [1, 2]], [[3]]]).unbatch(2),
    "unbatch all": lambda data: wrap(data, [[[0], 1], 2]).unbatch(-1),
    "groups": lambda data: wrap(data, WORDS).groupby(first),
    "groups of two": lambda data: wrap(data, WORDS).groupby(first, group_size=2, keep_key=True),
    "groups in a buffer": lambda data: wrap(data, WORDS).groupby(
        first, buffer_size=3, group_size=3, guaranteed_group_size=2
    ),
    "concat": lambda data: wrap(data, range(2)).concat(wrap(data, range(3))),
    "mux": lambda data: wrap(data, range(3)).mux(wrap(data, "ab")),
    "zip": lambda data: wrap(data, range(3)).zip(wrap(data, "ab")),
    "demux": lambda data: read_forks(data, wrap(data, range(7)).demux(2, is_odd)),
    "fork": lambda data: read_forks(data, wrap(data, range(4)).fork(3, copy="deep")),
    "fork, full": lambda data: overflow(data, wrap(data, range(4)).fork(2, buffer_size=3)),
    "fork, fits": lambda data: overflow(data, wrap(data, range(4)).fork(2, buffer_size=4)),
    "demux, full": lambda data: overflow(data, wrap(data, [0, 0, 1]).demux(2, is_odd, False, 1)),
    "shuffle": lambda data: wrap(data, range(20)).shuffle(buffer_size=5).set_seed(3),
    "no shuffle": lambda data: wrap(data, range(5)).shuffle().set_shuffle(False),
    "sampler": lambda data: data.datapipes.iter.Sampler(wrap(data, range(3))),
    "shares": lambda data: divided(data, wrap(data, range(10)).sharding_filter().map(double)),
    "one iterator": lambda data: second_iterator(data, wrap(data, range(4)).map(double)),
    "snapshot": lambda data: restored(data, wrap(data, range(5)).map(double), 2),
    "streams": lambda data: wrap(data, [("x", io.StringIO("abcde"))]).read_from_stream(2),
    "collate": lambda data: wrap(data, [[1, 2]]).collate(collate_fn=sum),
    "by key: map": lambda data: keep(data, range(3)).map(double),
    "by key: batch": lambda data: keep(data, range(5)).batch(2),
    "by key: zip": lambda data: keep(data, range(3)).zip(keep(data, range(2))),
    "by key: concat": lambda data: keep(data, range(3)).concat(keep(data, range(2))),
    "by key: shuffle": lambda data: keep(data, range(8)).shuffle().set_seed(0),
    "names": lambda data: [repr(wrap(data, [1])), str(keep(data, [1]).map(double))],
    "graph": lambda data: [
        type(pipe).__name__
        for pipe in data.graph_settings.get_all_graph_pipes(
            data.graph.traverse_dps(wrap(data, [1]).map(double).zip(wrap(data, [2])))
        )
    ],
}


def outcome(data, make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        pipe = make(data)
    if isinstance(pipe, list | tuple | str):
        return pipe
    try:
        length = len(pipe)
    except TypeError:
        length = None
    return list(pipe), length


@pytest.mark.parametrize("case", CASES)
def test_pipes_give_pytorchs_samples(case):
    assert outcome(OURS, CASES[case]) == outcome(THEIRS, CASES[case])


REFUSALS = {
    "a column that a function does not take": lambda data: wrap(data, [1]).map(add),
    "a column for results alone": lambda data: wrap(data, [1]).map(double, output_col=1),
    "no function": lambda data: wrap(data, [1]).map(3),
    "no pipe": lambda data: wrap(data, [1]).zip([1]),
    "no answer": lambda data: list(wrap(data, [1]).filter(double)),
    "no batch": lambda data: list(wrap(data, [1]).unbatch()),
    "no class": lambda data: list(wrap(data, [1]).demux(1, double)[0]),
    "a share too many": lambda data: wrap(data, [1]).sharding_filter().apply_sharding(2, 2),
    "shared twice": lambda data: data.graph_settings.apply_sharding(
        wrap(data, [1]).sharding_filter().map(double).sharding_filter(), 2, 0
    ),
    "no key": lambda data: keep(data, [1]).batch(2)[1],
}


@pytest.mark.parametrize("case", REFUSALS)
def test_pipes_refuse_what_pytorchs_do(case):
    kinds = []
    for data in (OURS, THEIRS):
        with pytest.raises(Exception) as error:  # noqa: PT011 - its type is compared
            REFUSALS[case](data)
        kinds.append(error.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_divide_samples_and_shuffle_anew(workers):
    pipe = wrap(OURS, range(12)).shuffle().sharding_filter()
    loader = flow.utils.data.DataLoader(pipe, batch_size=None, num_workers=workers)
    epochs = [[int(sample) for sample in loader] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(12))
    assert epochs[0] != epochs[1]
    ordered = flow.utils.data.DataLoader(pipe, 5, shuffle=False, num_workers=workers)
    if not workers:
        assert next(batch.tolist() for batch in ordered) == [0, 1, 2, 3, 4]
    with pytest.warns(UserWarning, match="Shuffler"):
        added = flow.utils.data.DataLoader(wrap(OURS, range(9)), None, shuffle=True)
    assert sorted(map(int, added)) == list(range(9))


def test_files_are_listed_opened_and_decoded(tmp_path):
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    Image.fromarray(pixels).save(tmp_path / "c.png")
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.json").write_text(json.dumps({"x": [1]}))
    (tmp_path / "d.cls").write_text("7")
    (tmp_path / "f.pyd").write_bytes(pickle.dumps((1, 2)))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "e.other").write_bytes(b"raw")
    found = {}
    for data in (OURS, THEIRS):
        files = data.datapipes.iter.FileLister(str(tmp_path), recursive=True)
        with pytest.warns(FutureWarning, match="deprecated"):
            decoded = files.open_files(mode="b").routed_decode()
        found[data] = [
            (name, value.tolist() if hasattr(value, "tolist") else value) for name, value in decoded
        ]
        images = [
            data.datapipes.utils.decoder.imagehandler(kind)(
                "png", (tmp_path / "c.png").read_bytes()
            )
            for kind in ("rgb8", "torchrgb8", "rgb", "l8")
        ]
        found[data] += [np.asarray(image).tolist() for image in images]
        found[data].append(list(data.datapipes.iter.FileLister(str(tmp_path), "*.txt")))
    assert found[OURS] == found[THEIRS]
    assert len(found[OURS]) == 6 + 5


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_processes_get_equal_shares_from_all_their_workers(workers):
    """Ranks that have fewer batches than others would leave these waiting."""
    shares = []
    for rank in range(2):
        epoch = PipeEpoch((0, 0), rank, 2)
        samples = []
        for worker in range(workers):
            pipe = OURS.datapipes.iter.IterableWrapper(range(10)).sharding_filter()
            epoch.begin(pipe, worker, workers)
            samples += pipe
        shares.append(samples)
    assert [len(samples) for samples in shares] == [5, 5]
    assert sorted(shares[0] + shares[1]) == list(range(10))


def test_streams_are_closed_with_their_last_part():
    common = in_place_of(f"{PIPES}.utils.common")
    whole = common.StreamWrapper(io.StringIO("ab"))
    part = common.StreamWrapper(io.StringIO("b"), parent_stream=whole)
    whole.autoclose()
    assert not whole.closed
    common.StreamWrapper.close_streams({"x": [(part,)]})
    assert part.file_obj.closed
    assert whole.file_obj.closed
