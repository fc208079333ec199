"""Repositories of OneFlow's backends for Triton: place of the graph, names of its tensors."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.serving.model_config import ConfigError, read_config, read_labels
from oneflow.serving.model_graph import load_version
from tests.serving.helpers import serving

CONFIG = """
name: "difference"
backend: "{backend}"
max_batch_size: 2
input {{ name: "INPUT_0" data_type: TYPE_FP32 dims: [ 3 ] }}
input {{ name: "INPUT_1" data_type: TYPE_FP32 dims: [ 3 ] }}
output {{ name: "OUTPUT_0" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" }}
output {{ name: "OUTPUT_1" data_type: TYPE_FP32 dims: [ 3 ] }}
instance_group {{ count: 1 kind: KIND_CPU }}
"""


class Difference(nn.Graph):
    """Two inputs that must not change places, in a tuple of any length."""

    def __init__(self):
        super().__init__(enable_get_runtime_state_dict=True)

    def build(self, *inputs):
        return inputs[0] - inputs[1], inputs[0] + inputs[1]


SAVED = {
    "oneflow": flow.save,
    "oneflow_python": lambda graph, path: flow.save(
        graph.runtime_state_dict(with_eager=True), path
    ),
}


@pytest.mark.parametrize("listed", ["input", "output"])
def test_a_configuration_that_lists_inputs_or_outputs_alone_numbers_both(listed, tmp_path):
    graph = Difference()
    graph(flow.zeros(2, 3), flow.zeros(2, 3))
    flow.save(graph, tmp_path / "difference" / "1" / "model")
    lines = CONFIG.format(backend="oneflow").replace('label_filename: "labels.txt"', "")
    kept = [line for line in lines.splitlines() if not line.startswith(("input", "output"))]
    kept += [line for line in lines.splitlines() if line.startswith(listed)]
    (tmp_path / "difference" / "config.pbtxt").write_text("\n".join(kept))
    first, second = np.float32([[1, 5, 3]]), np.float32([[0, 1, 1]])
    with serving(tmp_path) as server:
        status, answer = server.infer("difference", {"INPUT_1": second, "INPUT_0": first})
    assert status == 200, answer
    found = {output["name"]: output["data"] for output in answer["outputs"]}
    assert found == {"OUTPUT_0": [1, 4, 2], "OUTPUT_1": [1, 6, 4]}


@pytest.mark.parametrize("state", [[1], None, {"a": 1}, {"files": None}, {"files": {}}])
def test_files_that_are_no_state_of_a_graph_are_refused(state, tmp_path):
    flow.save(state, tmp_path / "model")
    with pytest.raises(RuntimeError, match="`runtime_state_dict`"):
        load_version(tmp_path)


def test_names_of_label_files_that_no_folder_can_have_are_refused(tmp_path):
    name = "a" * 5000
    (tmp_path / "config.pbtxt").write_text(f'output {{ name: "x" label_filename: "{name}" }}')
    with pytest.raises(ConfigError, match="too long"):
        read_labels(tmp_path, read_config(tmp_path))


@pytest.mark.parametrize("backend", SAVED)
def test_a_repository_of_genuine_backends(backend, tmp_path):
    graph = Difference()
    graph(flow.zeros(2, 3), flow.zeros(2, 3))
    folder = tmp_path / "difference"
    (folder / "1").mkdir(parents=True)
    SAVED[backend](graph, folder / "1" / "model")
    (folder / "config.pbtxt").write_text(CONFIG.format(backend=backend))
    (folder / "labels.txt").write_text("cat\ndog\nowl\n")
    first, second = np.float32([[1, 5, 3]]), np.float32([[0, 1, 1]])
    inputs = {"INPUT_1": second, "INPUT_0": first}
    with serving(tmp_path) as server:
        status, answer = server.infer("difference", inputs)
        assert status == 200, answer
        found = {output["name"]: output["data"] for output in answer["outputs"]}
        assert found == {"OUTPUT_0": [1, 4, 2], "OUTPUT_1": [1, 6, 4]}
        wanted = [{"name": "OUTPUT_0", "parameters": {"classification": 2}}]
        status, answer = server.infer("difference", inputs, outputs=wanted)
    assert status == 200, answer
    assert answer["outputs"][0]["data"] == ["4.000000:1:dog", "2.000000:2:owl"]
