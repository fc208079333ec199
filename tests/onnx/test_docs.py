"""The programs in the pages about the export and the import run."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import onnx

import oneflow as flow
from oneflow_onnx.oneflow2onnx.handler import flow_op

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGE, IMPORT_PAGE = DOCUMENTS / "onnx_export.md", DOCUMENTS / "onnx_import.md"


def test_programs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(flow_op, "_OPSETS", {})
    names: dict[str, object] = {"__name__": "page"}
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf8"), re.DOTALL)
    assert len(programs) == 5
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the model is exported in opset")
        for program in programs:
            exec(program, names)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checked.onnx",
        "classifier.onnx",
        "model.onnx",
    ]


def test_programs_of_the_import_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = flow.zeros(1, 3, 224, 224)
    layers = flow.nn.Conv2d(3, 2, 8, stride=32), flow.nn.ReLU(), flow.nn.Flatten()
    flow.onnx.export(flow.nn.Sequential(*layers), x, "model.onnx")
    names = {"__name__": "page", "model": onnx.load("model.onnx"), "x": x.numpy()}
    text = IMPORT_PAGE.read_text(encoding="utf8")
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(programs) == 5
    command = re.search(r"python (-m oneflow_onnx code \S+ out)/", text)[1]
    subprocess.run([sys.executable, *command.split()], check=True, capture_output=True)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    for program in programs:
        exec(program, names)
    assert names["predict"](x.numpy()).shape == (1, 98)
    assert names["y"].shape == (1, 98)
    assert sum(parameter.numel() for parameter in names["module"].parameters()) == 2 * 3 * 8 * 8 + 2
    flow.clear_default_session()
