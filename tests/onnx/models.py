"""Small models: some of ONNX, written as text, and one of ours."""

from __future__ import annotations

import onnx
from onnx import parser

from oneflow import nn


def parsed(text: str, opset: int = 21, more: str = "") -> onnx.ModelProto:
    """The model of a graph in ONNX's text format."""
    imports = f'"": {opset}' + (f", {more}" if more else "")
    return parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]> {text}")


def small_network() -> nn.Module:
    """Layers of a network for images of 8 by 8."""
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
    ).eval()
