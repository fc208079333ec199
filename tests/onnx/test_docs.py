"""The programs in the page about the export run."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from oneflow_onnx.oneflow2onnx.handler import flow_op

PAGE = Path(__file__).parents[2] / "docs" / "onnx_export.md"


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
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "checked.onnx",
        "classifier.onnx",
        "model.onnx",
    ]
