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


PROGRAM = """
import oneflow as flow

def make():
    model = flow.nn.Sequential(flow.nn.Linear(3, 4), flow.nn.ReLU())
    return model, (flow.randn(2, 3),)

def wrong():
    return 3
"""


def test_export_info_and_picture(tmp_path, capsys):
    program, model, picture = (tmp_path / name for name in ("m.py", "m.onnx", "m.svg"))
    program.write_text(PROGRAM)
    arguments = ["--opset", "13", "--dynamic", "input:0=batch"]
    assert main(["export", f"{program}:make", str(model), *arguments]) == 0
    captured = capsys.readouterr()
    assert "wrote" in captured.out
    assert "op/s" in captured.err
    assert main(["check", str(model)]) == 0
    assert main(["info", str(model), "--svg", str(picture)]) == 0
    text = capsys.readouterr().out
    for part in ("ai.onnx 13", "input: FLOAT[batch, 3]", "2 weights, 16 numbers", "1 Gemm"):
        assert part in text
    drawn = picture.read_text()
    assert drawn.startswith("<svg")
    assert ">Gemm<" in drawn


def test_errors_of_export_and_info(tmp_path, capsys):
    program = tmp_path / "m.py"
    program.write_text(PROGRAM)
    out = str(tmp_path / "m.onnx")
    for arguments, message in (
        (["export", "m.py", out], "name a function"),
        (["export", f"{program}:wrong", out], "must return a model"),
        (["export", f"{program}:make", out, "--dynamic", "x"], "--dynamic"),
        (["export", f"{program}:make", out, "--opset", "3"], "opset"),
        (["info", str(program)], "no ONNX model"),
        (["info", out], "no file"),
    ):
        assert main(arguments) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "m.onnx").exists()
