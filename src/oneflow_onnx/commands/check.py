"""``check``: whether ONNX's checker and ONNX Runtime take a file."""

from __future__ import annotations

import argparse
from pathlib import Path

import onnx

from oneflow.base.extras import extra
from oneflow_onnx.commands.subcommand import Subcommand, show

with extra("onnx", "comparing results with ONNX Runtime"):
    import onnxruntime


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="an ONNX file")


def _run(options: argparse.Namespace) -> int:
    path = str(options.file)
    try:
        onnx.checker.check_model(path, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise ValueError(f"`{path}` is no valid ONNX model: {error}") from error
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = ", ".join(input_.name for input_ in session.get_inputs())
    show(f"{path}: valid, and ONNX Runtime loads it; inputs: {names}")
    return 0


CHECK = Subcommand(
    "check", "check a file with ONNX's checker and ONNX Runtime", _add_arguments, _run
)
