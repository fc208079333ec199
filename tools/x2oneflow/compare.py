"""Import networks of PyTorch, TensorFlow and Paddle, and write how they differ to the docs.

``python tools/x2oneflow/compare.py ENVIRONMENTS [ROW ...]`` exports each network of `networks.tsv`
in the environment of its framework, imports it here, and compares the outputs. ENVIRONMENTS is a
folder with the virtual environments `pytorch`, `tensorflow` and `paddle`; those that are not there
are left out, and so are networks that are not named. `docs/x2oneflow.md` keeps what other runs said
of them.
"""

from __future__ import annotations

import csv
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

import oneflow as flow
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "x2oneflow.md"
# The largest difference that is taken for rounding, in units of the outputs' spread.
TOLERANCE = 1e-3
# Seconds for one export.
LIMIT = 500
_INTRODUCTION = """\
# Networks of other frameworks

Written by `make x2oneflow`, which exports each network in an environment with its framework,
imports it, and compares the outputs for two images. Weights are drawn at random, and normalisations
have the statistics of a batch, so that the outputs depend on the images. Differences are the
largest, in units of the standard deviation of the framework's outputs. Parameters are those of the
framework's network and of the imported module; exporters of TensorFlow and Paddle fold
normalisations into convolutions, or write fixed numbers as weights. Seconds are those of the
import.
"""
_HEADER = """\
| row | framework | network | from | image | difference | parameters | imported | seconds |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"""


@dataclass(frozen=True)
class SourceNetwork:
    """A network of a framework: a line of `networks.tsv`."""

    row: str
    framework: str
    network: str
    package: str
    factory: str
    size: str


def networks() -> list[SourceNetwork]:
    """Return the networks, in order."""
    with (HERE / "networks.tsv").open(encoding="utf8") as file:
        return [SourceNetwork(**line) for line in csv.DictReader(file, delimiter="\t")]


def compare(network: SourceNetwork, python: Path, folder: Path) -> str:
    """Return the line of the table for a network.

    Raises:
        RuntimeError: its framework cannot export it.
        AssertionError: the import computes something else, or the outputs say nothing.
    """
    script = HERE / f"export_{network.framework}.py"
    command = [python, script, network.package, network.factory, network.size, folder]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=LIMIT, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{network.factory} cannot be exported:\n{done.stderr[-2000:]}")
    with np.load(folder / "values.npz") as file:
        x, wanted, count = file["input"], file["output"], int(file["parameters"])
    started = time.perf_counter()
    module = from_onnx(folder / "model.onnx")
    seconds = time.perf_counter() - started
    output = module(flow.tensor(x))
    while isinstance(output, list | tuple):
        output = output[0]
    spread = float(wanted.std())
    apart = float(np.abs(wanted[0] - wanted[1]).max()) / spread
    assert apart > 1e-2, f"two images differ by {apart:.1g} of the outputs' spread only"
    difference = float(np.abs(output.numpy() - wanted).max()) / spread
    assert math.isfinite(difference), f"the outputs of {network.factory} are not finite"
    assert difference < TOLERANCE, f"outputs differ by {difference:.2g} of their spread"
    imported = sum(parameter.numel() for parameter in module.parameters())
    cells = (
        f"004-{network.row}",
        network.framework,
        network.network,
        f"`{network.package}`: `{network.factory}`",
        network.size,
        f"{difference:.1e}",
        f"{count:,}",
        f"{imported:,}",
        f"{seconds:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def known_lines() -> dict[str, str]:
    """Return the lines that are in the page, by row."""
    if not PAGE.exists():
        return {}
    return {
        found[1]: found[0]
        for found in re.finditer(r"^\| 004-(\w+) \|.*$", PAGE.read_text(encoding="utf8"), re.M)
    }


def write_page(lines: dict[str, str]) -> None:
    """Write the table, in the order of the networks."""
    table = [lines[network.row] for network in networks() if network.row in lines]
    PAGE.write_text("\n".join([_INTRODUCTION, _HEADER, *table, ""]), encoding="utf8")


def main(environments: Path, rows: Sequence[str]) -> int:
    """Compare the networks; return the number of those that failed."""
    lines, failed = known_lines(), 0
    chosen = [network for network in networks() if not rows or network.row in rows]
    for network in tqdm(chosen, desc="networks", unit="network"):
        python = environments / network.framework / "bin" / "python"
        if not python.exists():
            tqdm.write(f"{network.row}: there is no environment for {network.framework}")
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                lines[network.row] = compare(network, python, Path(folder))
        except Exception as error:
            failed += 1
            lines.pop(network.row, None)
            tqdm.write(f"{network.row} {network.factory}: {type(error).__name__}: {error}")
        write_page(lines)
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]) > 0)
