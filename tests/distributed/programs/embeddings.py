"""Embedding tables whose rows are divided among processes train as those of one process."""

import sys

import numpy as np

import oneflow as flow

one = flow.one_embedding
RANKS, RANK = flow.env.get_world_size(), flow.env.get_rank()
IDS = np.random.default_rng(0).integers(-50, 50, (4, RANKS, 6, 2))
FACTORS = np.random.default_rng(1).random((4, RANKS, 6, 2, 3), np.float32)


def start(path):
    """Return an embedding and its optimizer."""
    table = one.make_table_options(one.make_uniform_initializer(-1.0, 1.0))
    store = one.make_device_mem_store_options(path, 1000, size_factor=2)
    embedding = one.MultiTableEmbedding("e", 3, flow.float, flow.int64, [table] * 2, store)
    sgd = flow.optim.SGD(embedding.parameters(), lr=0.5, momentum=0.9)
    return embedding, one.Optimizer(sgd, [embedding])


def values(embedding):
    """The embeddings of all ids, which all processes look up."""
    with flow.no_grad():
        return embedding(flow.arange(-50, 50).reshape(-1, 1).expand(100, 2).contiguous()).numpy()


def expected(first):
    """The embeddings after training, by NumPy."""
    rows, speed = first[:, 0].copy(), np.zeros((100, 3), np.float32)
    for ids, factors in zip(IDS, FACTORS, strict=True):
        gradient = np.zeros_like(rows)
        np.add.at(gradient, ids.reshape(-1) + 50, factors.reshape(-1, 3) / (RANKS * 36))
        seen = np.unique(ids.reshape(-1) + 50)
        speed[seen] = 0.9 * speed[seen] + gradient[seen]
        rows[seen] -= 0.5 * speed[seen]
    return rows


def main(path):
    """Train with ids of each process, and with global ids; save and load."""
    for is_global in (False, True):
        embedding, optimizer = start(f"{path}/{is_global}")
        first = values(embedding)
        for ids, factors in zip(IDS, FACTORS, strict=True):
            mine, factor = flow.tensor(ids[RANK]), flow.tensor(factors[RANK])
            if is_global:
                place = {"placement": flow.placement("cpu", range(RANKS)), "sbp": flow.sbp.split(0)}
                mine, factor = mine.to_global(**place), factor.to_global(**place)
            (embedding(mine) * factor).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        trained = values(embedding)
        np.testing.assert_allclose(trained[:, 0], expected(first), rtol=1e-5, atol=1e-6)
        assert 0 < len(embedding.store) < 100
        embedding.save_snapshot("trained")
        other, _ = start(f"{path}/{is_global}")
        other.load_snapshot("trained")
        np.testing.assert_array_equal(values(other), trained)
        state = embedding.state_dict()
        other.load_state_dict(state)
        np.testing.assert_array_equal(values(other), trained)
    if RANK == 0:
        np.save(f"{path}/trained.npy", trained)


if __name__ == "__main__":
    main(sys.argv[1])
