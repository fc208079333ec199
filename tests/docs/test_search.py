"""Readers find first what they look for: the documentation's search, which runs in node."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.distributed.launching import ROOT
from tests.docs.test_reference import ENTRIES, page

pytest.importorskip("sphinx", reason="pip install --group docs")
NODE = shutil.which("node")
# The first results of each text that is typed.
EXPECTED = {
    "Linear": ["oneflow.nn.Linear"],
    "linear": ["oneflow.nn.Linear"],
    "Conv2d": ["oneflow.nn.Conv2d"],
    "nn.functional.linear": ["oneflow.nn.functional.linear"],
    "Adam": ["oneflow.optim.Adam"],
    "cross_entropy": ["oneflow.nn.functional.cross_entropy"],
    "DataLoader": ["oneflow.utils.data.DataLoader"],
    "checkpoint": ["oneflow.utils.checkpoint.checkpoint"],
}
CONFIGURATION = f"""\
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "basic"
html_search_scorer = {str(ROOT / "docs" / "extensions" / "search_scorer.js")!r}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with the entries that contain what is typed, and the list of one module."""
    folder = tmp_path_factory.mktemp("site")
    generated = folder / "api" / "generated"
    generated.mkdir(parents=True)
    (folder / "conf.py").write_text(CONFIGURATION)
    typed = {query.rpartition(".")[2].lower() for query in EXPECTED}
    chosen = [entry for entry in ENTRIES if any(text in entry.path.lower() for text in typed)]
    for entry in chosen:
        (generated / f"{entry.path}.rst").write_text(page(entry, [], ()))
    (folder / "index.rst").write_text("Documentation\n=============\n\nA linear layer.\n")
    command = (sys.executable, "-m", "sphinx", "-q", "-b", "html", str(folder), str(folder / "out"))
    built = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "out"


def test_job_functions_are_those_of_the_index() -> None:
    index = (ROOT / "docs" / "api" / "index.md").read_text().partition("## Job functions")[2]
    listed = set(re.findall(r"^oneflow\.(\w+)", index, re.MULTILINE))
    scorer = (ROOT / "docs" / "extensions" / "search_scorer.js").read_text()
    assert set(re.findall(r'"(\w+)"', scorer.partition("]")[0])) == listed


@pytest.mark.skipif(NODE is None, reason="node runs the search's JavaScript")
@pytest.mark.parametrize("query", EXPECTED)
def test_first_results(query: str, site: Path) -> None:
    search = (str(NODE), str(Path(__file__).with_name("search.js")), str(site), query)
    found = json.loads(subprocess.run(search, capture_output=True, text=True, check=True).stdout)
    assert found[: len(EXPECTED[query])] == EXPECTED[query], found[:5]
