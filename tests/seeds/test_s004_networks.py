"""Networks of PyTorch, TensorFlow and Paddle: what `make x2oneflow` found when it imported them.

The frameworks do not go together in one environment, and take gigabytes. With the environments
that `make x2oneflow` makes, --exhaustive compares them anew.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "x2oneflow.md"
ENVIRONMENTS = ROOT / ".venv-x2oneflow"
FRAMEWORKS = {"P": "pytorch", "T": "tensorflow", "D": "paddle"}
LAST = {"P": 116, "T": 110, "D": 125}
ROWS = [f"s004_{letter}{n}" for letter, last in LAST.items() for n in range(101, last + 1)]


def recorded(row: str) -> list[str]:
    """The cells of a row of the page."""
    found = re.search(rf"^\| 004-{row[5:]} \| (.*) \|$", PAGE.read_text(encoding="utf8"), re.M)
    assert found is not None, f"{row} is not in {PAGE.name}: run `make x2oneflow ROWS={row[5:]}`"
    return found[1].split(" | ")


@pytest.mark.parametrize("row", ROWS)
def test_recorded_comparison(row):
    framework, _, _, _, difference, parameters, imported, _ = recorded(row)
    assert framework == FRAMEWORKS[row[5]]
    assert float(difference) < 1e-3
    counts = [int(each.replace(",", "")) for each in (parameters, imported)]
    # Exporters fold the scales of normalisations away, and write fixed numbers as weights.
    assert abs(counts[0] - counts[1]) < 0.02 * counts[0]


@pytest.mark.parametrize("row", ROWS)
def test_comparison(row, exhaustive, tmp_path):
    compare = importlib.import_module("tools.x2oneflow.compare")
    (network,) = [each for each in compare.networks() if each.row == row[5:]]
    python = ENVIRONMENTS / network.framework / "bin" / "python"
    if not exhaustive or not python.exists():
        pytest.skip("runs with --exhaustive and the environments of `make x2oneflow`")
    assert compare.compare(network, python, tmp_path).startswith(f"| 004-{network.row} |")
