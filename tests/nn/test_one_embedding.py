"""Embedding tables in a store: lookups, updates, tiers, snapshots."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from oneflow.nn.one_embedding.key_index import KeyIndex
from oneflow.nn.one_embedding.row_store import RowStore

one = flow.one_embedding
UNIFORM = one.make_uniform_initializer(-1.0, 1.0)


def _embedding(path, size_factor=1, width=4, kind=one.MultiTableEmbedding, **options):
    options = {
        "tables": [one.make_table_options(UNIFORM)],
        "store_options": one.make_device_mem_store_options(str(path), 1000, size_factor),
        **options,
    }
    return kind("e", width, flow.float, flow.int64, **options)


def _values(embedding, ids):
    with flow.no_grad():
        return embedding(flow.tensor(ids)).numpy()


OPTIMIZERS = {
    "SGD": (1, lambda params: flow.optim.SGD(params, lr=0.1)),
    "decay": (1, lambda params: flow.optim.SGD(params, lr=0.1, weight_decay=0.1)),
    "momentum": (2, lambda params: flow.optim.SGD(params, lr=0.1, momentum=0.9)),
    "Adam": (3, lambda params: flow.optim.Adam(params, lr=0.1)),
    "AdamW": (3, lambda params: flow.optim.AdamW(params, lr=0.1, weight_decay=0.1)),
    "amsgrad": (4, lambda params: flow.optim.Adam(params, lr=0.1, amsgrad=True)),
    "Adagrad": (2, lambda params: flow.optim.Adagrad(params, lr=0.1)),
    "RMSprop": (2, lambda params: flow.optim.RMSprop(params, lr=0.1)),
    "Ftrl": (3, lambda params: one.Ftrl(params, lr=0.1, lr_power=0.5, lambda1=0.01)),
    "SmartDecayAdam": (3, lambda params: one.SmartDecayAdam(params, lr=0.1)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_are_updated_as_dense_parameters(tmp_path, name):
    size_factor, make = OPTIMIZERS[name]
    embedding = _embedding(tmp_path, size_factor)
    ids = np.array([10**15, 3, -7, 40, 5])
    dense = flow.nn.Embedding.from_pretrained(flow.tensor(_values(embedding, ids)), freeze=False)
    head = flow.nn.Linear(4, 1)
    twin = flow.nn.Linear(4, 1)
    twin.load_state_dict(head.state_dict())
    ours = one.Optimizer(make([*embedding.parameters(), *head.parameters()]), [embedding])
    theirs = make([*dense.parameters(), *twin.parameters()])
    places = np.random.default_rng(0).integers(0, 5, (4, 3, 6))
    places[:, 0, :5] = np.arange(5)
    for step in range(4):
        for optimizer, layer, table, chosen in (
            (ours, head, embedding, ids[places[step]]),
            (theirs, twin, dense, places[step]),
        ):
            optimizer.zero_grad()
            layer(table(flow.tensor(chosen))).pow(2).mean().backward()
            optimizer.step()
        np.testing.assert_allclose(_values(embedding, ids), dense.weight.numpy(), rtol=1e-5)
    np.testing.assert_allclose(head.weight.numpy(), twin.weight.numpy(), rtol=1e-5)


def test_what_is_not_looked_up_stays(tmp_path):
    embedding = _embedding(tmp_path, padding_idx=0)
    optimizer = one.Optimizer(flow.optim.SGD(embedding.parameters(), lr=1.0), [embedding])
    before = _values(embedding, [1, 2, 0, 3])
    assert not before[2].any()
    embedding(flow.tensor([[1, 0], [1, 3]])).sum().backward()
    embedding(flow.tensor([3])).sum().backward()  # gradients of two passes add up
    optimizer.step()
    expected = before - np.float32([[2], [0], [0], [2]])
    np.testing.assert_allclose(_values(embedding, [1, 2, 0, 3]), expected, rtol=1e-6)
    optimizer.step()  # the gradients were consumed
    embedding(flow.tensor([1])).sum().backward()
    optimizer.zero_grad()
    optimizer.step()
    np.testing.assert_allclose(_values(embedding, [1, 2, 0, 3]), expected, rtol=1e-6)


def test_smart_decay_makes_up_for_missed_steps(tmp_path):
    options = {"lr": 0.1, "eps": 1e-12, "do_bias_correction": False}
    embedding = _embedding(tmp_path, size_factor=3)
    optimizer = one.Optimizer(one.SmartDecayAdam(embedding.parameters(), **options), [embedding])
    weight = flow.tensor(_values(embedding, [1, 2]), requires_grad=True)
    dense = flow.optim.Adam([weight], **options)
    for ids in ([1, 2], [2], [2], [1], [1, 2]):
        factors = np.float32([[number in ids] for number in (1, 2)])
        optimizer.zero_grad()
        embedding(flow.tensor(ids)).sum().backward()
        optimizer.step()
        dense.zero_grad()
        (weight * flow.tensor(factors)).sum().backward()
        dense.step()
    np.testing.assert_allclose(_values(embedding, [1, 2]), weight.detach().numpy(), rtol=1e-4)


def test_tables_and_columns_have_first_values_of_their_own(tmp_path):
    normal = one.make_normal_initializer(mean=3.0, std=0.5)
    short = one.make_trunc_normal_initializer(0.0, 1.0, -0.5, 0.25)
    tables = [one.make_table_options([UNIFORM, normal]), one.make_table([normal, short])]
    embedding = _embedding(
        tmp_path,
        width=(8, 4),
        kind=one.MultiTableMultiColumnEmbedding,
        tables=tables,
    )
    ids = np.arange(600).reshape(300, 2)
    values = _values(embedding, ids)
    assert values.shape == (300, 2, 12)
    assert abs(values[:, 0, :8].mean()) < 0.05
    assert abs(values[:, 0, :8].std() - 3**-0.5) < 0.02
    assert abs(values[:, 1, :8].mean() - 3) < 0.05
    assert abs(values[:, 1, :8].std() - 0.5) < 0.02
    assert -0.5 <= values[:, 1, 8:].min() < values[:, 1, 8:].max() <= 0.25
    # The same in another order, by another embedding; not with another seed.
    flipped = ids[::-1, ::-1]
    chosen = flow.tensor(np.broadcast_to([1, 0], ids.shape).copy())
    again = _embedding(tmp_path, width=(8, 4), tables=tables)
    with flow.no_grad():
        other = again(flow.tensor(flipped.copy()), chosen).numpy()
    np.testing.assert_array_equal(other, values[::-1, ::-1])
    other = _embedding(tmp_path, width=(8, 4), tables=tables, seed=1)
    assert not np.isclose(_values(other, ids), values).any(-1).mean() > 0.1


def test_rows_of_a_key_index_are_those_of_a_dict():
    rng = np.random.default_rng(0)
    index, known = KeyIndex(), {}
    for _ in range(30):
        keys = np.unique(rng.integers(-(2**62), 2**62, 400) >> rng.integers(0, 60))
        found = index.find(keys)
        assert found.tolist() == [known.get(key, -1) for key in keys.tolist()]
        new = keys[found < 0]
        known.update(zip(new.tolist(), index.add(new).tolist(), strict=True))
    assert index.size == len(known)
    assert dict(zip(index.keys().tolist(), range(index.size), strict=True)) == known


def test_rows_in_files_are_those_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    cache = 2 * 4096 * 3 * 4
    stores = [RowStore(3, None, 0), RowStore(3, tmp_path / "rows", cache)]
    for _ in range(5):
        rows = rng.standard_normal((5000, 3), np.float32)
        for store in stores:
            store.append(rows)
        numbers = rng.permutation(stores[0].count)[:3000]
        rows = rng.standard_normal((3000, 3), np.float32)
        for store in stores:
            store.write(numbers, rows)
    everything = np.arange(25000)
    np.testing.assert_array_equal(*(store.read(everything) for store in stores))
    assert [store.blocks_in_memory for store in stores] == [7, 2]


STORES = {
    "device": lambda path: one.make_device_mem_store_options(path, 50_000, size_factor=3),
    "host": lambda path: one.make_cached_host_mem_store_options(8, path, 50_000, size_factor=3),
    "ssd": lambda path: one.make_cached_ssd_store_options(0.2, path, size_factor=3),
}


@pytest.mark.parametrize("kind", STORES)
def test_training_goes_on_from_a_snapshot(tmp_path, kind):
    def start(path):
        embedding = _embedding(path, store_options=STORES[kind](str(path)))
        adam = flow.optim.Adam(embedding.parameters(), lr=0.1)
        return embedding, one.Optimizer(adam, [embedding])

    def train(embedding, optimizer, steps):
        for step in steps:
            ids = np.random.default_rng(step).integers(0, 9000, 3000)
            embedding(flow.tensor(ids)).pow(2).sum().backward()
            optimizer.step()

    embedding, optimizer = start(tmp_path)
    train(embedding, optimizer, range(3))
    embedding.save_snapshot("third")
    train(embedding, optimizer, range(3, 5))
    expected = _values(embedding, np.arange(9000))
    other, optimizer = start(tmp_path)
    other.load_snapshot("third")
    train(other, optimizer, range(3, 5))
    np.testing.assert_array_equal(_values(other, np.arange(9000)), expected)
    # State dicts name a snapshot of their own.
    state = other.state_dict()
    train(other, optimizer, range(5, 6))
    other.load_state_dict(state)
    assert "OneEmbeddingSnapshot" in state
    np.testing.assert_array_equal(_values(other, np.arange(9000)), expected)


def test_interrupted_and_damaged_snapshots(tmp_path, monkeypatch):
    embedding = _embedding(tmp_path)
    before = _values(embedding, [1, 2, 3])
    embedding.save_snapshot("s")
    embedding(flow.tensor([1, 2, 3, 4])).sum().backward()
    one.Optimizer(flow.optim.SGD(embedding.parameters(), lr=1.0), [embedding]).step()
    monkeypatch.setattr(RowStore, "read", lambda *_: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        embedding.save_snapshot("s")
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "0-1" / "snapshots").iterdir()] == ["s"]
    embedding.load_snapshot("s")
    np.testing.assert_array_equal(_values(embedding, [1, 2, 3]), before)
    with pytest.raises(FileNotFoundError, match="there is no snapshot"):
        embedding.load_snapshot("t")
    with pytest.raises(ValueError, match="cannot be the name"):
        embedding.save_snapshot("../s")
    with pytest.raises(ValueError, match="6 of them an embedding"):
        _embedding(tmp_path, width=6).load_snapshot("s")
    rows = tmp_path / "0-1" / "snapshots" / "s" / "rows"
    rows.write_bytes(rows.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="damaged: `rows` has 47 bytes instead of 48"):
        embedding.load_snapshot("s")
    np.testing.assert_array_equal(_values(embedding, [1, 2, 3]), before)


def test_tables_are_written_and_read_without_an_embedding(tmp_path):
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    keys, values = np.arange(100_000), np.random.default_rng(0).random((100_000, 4), np.float32)
    table = paths, "made", flow.int32, flow.float, 4
    with one.make_persistent_table_writer(*table) as writer:
        writer.write(keys[:10].astype(np.int32), values[:10])
        writer.write(keys[10:], values[10:])
        with pytest.raises(ValueError, match=r"must have the shape \(3, 4\)"):
            writer.write(keys[:3], values[:2])
    with one.make_persistent_table_reader(*table) as reader:
        parts = list(reader)
    read = np.concatenate([part for part, _ in parts])
    assert read.dtype == np.int32
    order = np.argsort(read)
    np.testing.assert_array_equal(read[order], keys)
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts])[order], values)
    # An embedding of one process takes what two have written.
    for path in paths:
        (tmp_path / "both" / f"{paths.index(path)}-2").parent.mkdir(exist_ok=True)
        (tmp_path / path).rename(tmp_path / "both" / f"{paths.index(path)}-2")
    store = one.make_cached_ssd_store_options(1, str(tmp_path / "both"))
    embedding = _embedding(tmp_path, store_options=store)
    embedding.load_snapshot("made")
    np.testing.assert_array_equal(_values(embedding, keys[::-1]), values[::-1])
    with pytest.raises(KeyboardInterrupt), one.make_persistent_table_writer(*table):
        raise KeyboardInterrupt
    with pytest.raises(FileNotFoundError):
        one.make_persistent_table_reader(*table)
    with pytest.raises(ValueError, match="rows are float32"):
        one.make_persistent_table_reader(paths, "made", flow.int32, flow.float64, 4)


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs tables"):
        _embedding(tmp_path, tables=None)
    assert _embedding(tmp_path, tables=None, default_initializer=UNIFORM).table_count == 1
    with pytest.raises(ValueError, match="2 columns, and table 0 has 1"):
        _embedding(tmp_path, width=(2, 2))
    with pytest.raises(TypeError, match="a table is described by an initializer"):
        one.make_table_options(3)
    with pytest.raises(ValueError, match="`capacity` must be positive"):
        one.make_device_mem_store_options("path", 0)
    with pytest.raises(ValueError, match="`cache_budget_mb` must be positive"):
        one.make_cached_ssd_store_options(0, "path")
    with pytest.raises(ValueError, match="too few numbers"):
        one.make_trunc_normal_initializer(0.0, 1.0, 5.0, 6.0)
    store = one.make_device_mem_store_options(["a", "b"], 10)
    with pytest.raises(ValueError, match="2 folders, for 1 processes"):
        _embedding(tmp_path, store_options=store)
    two = _embedding(tmp_path, tables=[one.make_table_options(UNIFORM)] * 2)
    with pytest.raises(ValueError, match="must be that of the 2 tables"):
        two(flow.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match="from 0 to 1"):
        two(flow.tensor([1]), flow.tensor([2]))
    embedding = _embedding(tmp_path)
    with pytest.raises(RuntimeError, match="capacity of 1000 rows"):
        embedding(flow.arange(1001))
    with pytest.raises(TypeError, match="LBFGS cannot update single rows"):
        one.Optimizer(flow.optim.LBFGS(embedding.parameters()), [embedding])
    with pytest.raises(TypeError, match="must be embeddings, got Linear"):
        one.Optimizer(flow.optim.SGD(embedding.parameters(), lr=1.0), [flow.nn.Linear(1, 1)])
    optimizer = one.Optimizer(flow.optim.Adam(embedding.parameters()), [embedding])
    embedding(flow.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="size_factor=3"):
        optimizer.step()
