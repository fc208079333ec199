"""``code``: an ONNX model as readable Python."""

from __future__ import annotations

import argparse
from pathlib import Path

from oneflow_onnx.commands.subcommand import Subcommand, show
from oneflow_onnx.x2oneflow.codegen.writer import write_code


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="an ONNX file")
    parser.add_argument("folder", type=Path, help="where model.py and weights.safetensors go")


def _run(options: argparse.Namespace) -> int:
    path = write_code(options.file, options.folder)
    lines = len(path.read_text(encoding="utf8").splitlines())
    show(f"{path}: {lines} lines; `load()` returns the model with its weights")
    return 0


CODE = Subcommand("code", "write readable Python and weights", _add_arguments, _run)
