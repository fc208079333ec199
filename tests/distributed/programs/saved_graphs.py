"""Two processes run a graph that one process saved, and save it for others."""

import sys
from pathlib import Path

import numpy as np
from tests.graph.test_saving_on_placements import PAIR, network, rows, run

import oneflow as flow

S = flow.sbp.split
folder = Path(sys.argv[1])
expected = np.load(folder / "expected.npy")
x = rows(PAIR, S(0))

loaded = flow.load(folder / "one")
found = run(loaded, x)
np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)

graph = network(PAIR, layer0=S(0), layer2=S(1))
graph.net.load_state_dict(
    {name.removeprefix("net."): tensor for name, tensor in loaded.state_dict().items()},
    strict=False,
)
np.testing.assert_allclose(run(graph, x).numpy(), expected, rtol=1e-6)
graph.save(folder / "several")
graph.save(folder / "several")
np.testing.assert_allclose(run(flow.load(folder / "several"), x).numpy(), expected, rtol=1e-6)

# A graph on one rank: the other has no part of it.
alone = flow.placement("cpu", [1])
graph = network(alone)
x = rows(alone, alone.broadcast)
expected = run(graph, x).to_local()
graph.save(folder / "alone")
found = run(flow.load(folder / "alone"), x).to_local()
assert found.shape == ((5, 4) if flow.env.get_rank() == 1 else (0, 0))
np.testing.assert_array_equal(found.numpy(), expected.numpy())
