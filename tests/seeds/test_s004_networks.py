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
ROWS = {
    "pytorch": """
        s004_P101 s004_P102 s004_P103 s004_P104 s004_P105 s004_P106 s004_P107 s004_P108
        s004_P109 s004_P110 s004_P111 s004_P112 s004_P113 s004_P114 s004_P115 s004_P116
    """,
    "tensorflow": """
        s004_T101 s004_T102 s004_T103 s004_T104 s004_T105 s004_T106 s004_T107 s004_T108
        s004_T109 s004_T110
    """,
    "paddle": """
        s004_D101 s004_D102 s004_D103 s004_D104 s004_D105 s004_D106 s004_D107 s004_D108
        s004_D109 s004_D110 s004_D111 s004_D112 s004_D113 s004_D114 s004_D115 s004_D116
        s004_D117 s004_D118 s004_D119 s004_D120 s004_D121 s004_D122 s004_D123 s004_D124
        s004_D125
    """,
}
NETWORKS = [(framework, row) for framework, rows in ROWS.items() for row in rows.split()]


def recorded(row: str) -> list[str]:
    """The cells of a row of the page."""
    found = re.search(rf"^\| 004-{row[5:]} \| (.*) \|$", PAGE.read_text(encoding="utf8"), re.M)
    assert found is not None, f"{row} is not in {PAGE.name}: run `make x2oneflow ROWS={row[5:]}`"
    return found[1].split(" | ")


@pytest.mark.parametrize(("framework", "row"), NETWORKS)
def test_recorded_comparison(framework, row):
    recorded_framework, _, _, _, difference, parameters, imported, _ = recorded(row)
    assert recorded_framework == framework
    assert float(difference) < 1e-3
    counts = [int(text.replace(",", "")) for text in (parameters, imported)]
    # Exporters fold the scales of normalisations away, and write fixed numbers as weights.
    assert abs(counts[0] - counts[1]) < 0.02 * counts[0]


@pytest.mark.parametrize(("framework", "row"), NETWORKS)
def test_comparison(framework, row, exhaustive, tmp_path):
    compare = importlib.import_module("tools.x2oneflow.compare")
    (network,) = [candidate for candidate in compare.networks() if candidate.row == row[5:]]
    python = ENVIRONMENTS / framework / "bin" / "python"
    if not exhaustive or not python.exists():
        pytest.skip("runs with --exhaustive and the environments of `make x2oneflow`")
    assert compare.compare(network, python, tmp_path).startswith(f"| 004-{network.row} |")
