"""The counterparts of public names in PyTorch, torchvision, and OneFlow's own releases.

`docs/counterparts.tsv` has a line for each name with a counterpart; ``=`` stands for the same path
in the other package. `tools/make_counterparts.py` writes the column of PyTorch.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).parents[1] / "counterparts.tsv"
HEADER = ("name", "pytorch", "oneflow")
# The packages of PyTorch's side, by ours.
PYTORCH = {"oneflow": "torch", "flowvision": "torchvision"}
# Their documentation, and that of the last releases of OneFlow and flowvision, to be searched.
_PAGES = {
    "torch": ("PyTorch", "https://docs.pytorch.org/docs/stable"),
    "torchvision": ("torchvision", "https://docs.pytorch.org/vision/stable"),
    "oneflow": ("OneFlow 0.9", "https://oneflow.readthedocs.io/en/v0.9.0"),
    "flowvision": ("flowvision 0.0.54", "https://flowvision.readthedocs.io/en/latest"),
}


class Counterparts(NamedTuple):
    """The full names of the counterparts of a name, or None.

    Attributes:
        pytorch: in PyTorch or torchvision.
        oneflow: in OneFlow 0.9 or flowvision 0.0.54.
    """

    pytorch: str | None
    oneflow: str | None


def same_path(name: str) -> str:
    """Return the name in PyTorch's package at the same place."""
    package, _, path = name.partition(".")
    return f"{PYTORCH[package]}.{path}"


@functools.cache
def counterparts() -> dict[str, Counterparts]:
    """Return the counterparts by the full names that have one."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Counterparts(
                same_path(row["name"]) if row["pytorch"] == "=" else row["pytorch"] or None,
                row["name"] if row["oneflow"] == "=" else row["oneflow"] or None,
            )
            for row in csv.DictReader(file, delimiter="\t")
        }


def counterpart_line(name: str) -> str:
    """Return the sentence about the counterparts of a name, with links; empty if it has none."""
    found = [counterpart for counterpart in counterparts().get(name, ()) if counterpart is not None]
    return " ".join(map(_sentence, found)) + "\n" if found else ""


def _sentence(counterpart: str) -> str:
    package, address = _PAGES[counterpart.partition(".")[0]]
    return f"In {package}: `{counterpart} <{address}/search.html?q={counterpart}>`__."
