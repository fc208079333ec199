"""Features named by the v0.6.0 release notes: serving."""

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn

pytest.importorskip("aiohttp", reason="pip install 'oneflow-xla[serving]'")
from tests.graph.helpers import graph_of
from tests.serving.helpers import serving


def test_s001_58_a_saved_graph_is_served(tmp_path):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.randn(2, 4)
    expected = graph(x).numpy()
    graph.save(tmp_path / "m")
    with serving(tmp_path / "m") as server:
        answer = server.values("m", {"input_0": x.numpy()})
    np.testing.assert_allclose(answer, expected, rtol=1e-6)
