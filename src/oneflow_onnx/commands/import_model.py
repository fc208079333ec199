"""``import``: the weights of an ONNX model as a state dict of OneFlow, and what the model takes."""

from __future__ import annotations

import argparse
from pathlib import Path

from oneflow_onnx.commands.subcommand import Subcommand, show
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="an ONNX file")
    parser.add_argument(
        "weights", type=Path, nargs="?", help="where `oneflow.save` writes the state"
    )


def _run(options: argparse.Namespace) -> int:
    module = from_onnx(options.file, model_weight_dir=options.weights)
    count = sum(parameter.numel() for parameter in module.parameters())
    show(
        f"{options.file}: {module.extra_repr()}; {count:,} parameters in"
        f" {len(list(module.parameters()))} tensors, {len(list(module.buffers()))} buffers"
    )
    return 0


IMPORT = Subcommand("import", "import a model, and save its weights", _add_arguments, _run)
