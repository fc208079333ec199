"""Small ONNX models, written as text."""

from __future__ import annotations

import onnx
from onnx import parser


def parsed(text: str, opset: int = 21, more: str = "") -> onnx.ModelProto:
    """The model of a graph in ONNX's text format."""
    imports = f'"": {opset}' + (f", {more}" if more else "")
    return parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> {text}")
