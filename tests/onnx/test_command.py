"""The command line of `oneflow_onnx`."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

from oneflow_onnx.command import main


def write_model(path: Path) -> None:
    """Write a model with one Relu."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))


def test_check_accepts_a_valid_file(tmp_path, capsys):
    write_model(tmp_path / "model.onnx")
    assert main(["check", str(tmp_path / "model.onnx")]) == 0
    assert "inputs: x" in capsys.readouterr().out


def test_check_names_what_is_wrong(tmp_path, capsys):
    path = tmp_path / "model.onnx"
    write_model(path)
    path.write_bytes(path.read_bytes().replace(b"Relu", b"Rilu"))
    assert main(["check", str(path)]) == 1
    assert "Rilu" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.onnx")]) == 1
