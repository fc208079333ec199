"""``export``: a model of a Python file to ONNX."""

from __future__ import annotations

import argparse
from pathlib import Path

from tqdm import tqdm

from oneflow.plan.command import function_named
from oneflow_onnx.commands.subcommand import Subcommand, show
from oneflow_onnx.oneflow2onnx.torch_signature import export


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("function", metavar="FILE.py:FUNCTION", help="returns a model and a tuple of its arguments")
    add("output", type=Path, metavar="OUT.onnx", help="the file to write")
    add("--opset", type=int, help="default: 10, or the lowest that can express the model")
    add(
        "--dynamic",
        metavar="INPUT:DIM=NAME",
        action="append",
        default=[],
        help="a symbolic size, such as x:0=batch; may be given several times",
    )
    add("--external-data", action="store_true", help="store weights in a file of their own")
    add("--quiet", action="store_true", help="show no progress")


def _run(options: argparse.Namespace) -> int:
    if ":" not in options.function:
        raise ValueError(f"name a function: `{options.function}:make`")
    result = function_named(options.function)()
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"`{options.function}` must return a model and a tuple of its arguments")
    model, args = result
    export(
        model,
        args,
        options.output,
        opset_version=options.opset,
        dynamic_axes=_dynamic_axes(options.dynamic),
        external_data=options.external_data or None,
        progress=lambda calls: tqdm(calls, unit="op", disable=options.quiet),
    )
    show(f"wrote {options.output} ({options.output.stat().st_size:,} bytes)")
    return 0


def _dynamic_axes(options: list[str]) -> dict[str, dict[int, str]]:
    """The symbolic sizes on the command line, as `export` takes them."""
    axes: dict[str, dict[int, str]] = {}
    for axis in options:
        place, _, name = axis.partition("=")
        tensor, _, dim = place.rpartition(":")
        if not (tensor and name and dim.isdecimal()):
            raise ValueError(f"--dynamic must look like x:0=batch, got {axis!r}")
        axes.setdefault(tensor, {})[int(dim)] = name
    return axes


EXPORT = Subcommand("export", "export a model to ONNX", _add_arguments, _run)
