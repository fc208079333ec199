"""Files of exported models: what is in them, large ones, and what is left when writing fails."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import oneflow as flow
from oneflow import nn
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx


def test_external_data_and_replacement(tmp_path):
    path = tmp_path / "model.onnx"
    large, x = nn.Linear(64, 64), flow.randn(2, 64)
    for _ in range(2):
        flow.onnx.export(large, x, path, external_data=True)
        assert len(list(tmp_path.iterdir())) == 2
        path_size = path.stat().st_size
        assert path_size < 4096
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (result,) = session.run(None, {"input": x.numpy()})
        np.testing.assert_allclose(result, large(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    flow.onnx.export(large, x, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize(
    "dtype", [flow.float32, flow.float16, flow.bfloat16, flow.int8, flow.bool, flow.int64]
)
def test_files_hold_what_is_returned(dtype, tmp_path):
    """Weights are written one by one; the file is that of the whole message."""

    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("matrix", flow.tensor([[1, 0, 1]] * 200).to(dtype))
            self.register_buffer("number", flow.tensor(1).to(dtype))

        def forward(self, index):
            return self.matrix[index], self.number.reshape(1)

    path, index = tmp_path / "model.onnx", flow.tensor([0])
    flow.onnx.export(Several(), index, path, opset_version=13)
    returned = flow.onnx.export(Several(), index, opset_version=13)
    read = onnx.load(path)
    for proto in (read, returned):
        proto.graph.name = ""
        # Types of weights, which they have themselves.
        proto.graph.ClearField("value_info")
    assert len(read.graph.initializer) == 2
    assert read == returned
    onnx.checker.check_model(str(path), full_check=True)


def test_weights_that_are_too_large_for_one_file_go_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr("oneflow_onnx.oneflow2onnx.files._LARGEST", 20_000)
    path = tmp_path / "model.onnx"
    flow.onnx.export(nn.Linear(64, 64), flow.randn(2, 64), path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    flow.onnx.export(nn.Linear(96, 64), flow.randn(2, 96), path)
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(ValueError, match=r"24,\d+ bytes, too many.*external_data=True"):
        flow.onnx.export(nn.Linear(96, 64), flow.randn(2, 96), path, external_data=False)
    assert from_onnx(path)(flow.ones(2, 96)).shape == (2, 64)


def test_a_failed_export_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    flow.onnx.export(nn.ReLU(), flow.randn(2), path)
    before = path.read_bytes()

    def full_disk(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    for options in ({}, {"external_data": True}):
        with pytest.raises(OSError, match="No space"):
            flow.onnx.export(nn.Linear(64, 64), flow.randn(2, 64), path, **options)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        flow.onnx.export(nn.ReLU(), flow.randn(2), tmp_path / "none" / "model.onnx")
