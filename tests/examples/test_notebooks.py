"""The notebooks run, and show what their cells print; the index and the README link them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.distributed.launching import ROOT, environment
from tests.examples.notebook import code_cells, shown

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


@pytest.mark.multiprocess
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook(name, sample):
    sample.take_turns(NOTEBOOKS, name, 2)
    path = FOLDER / f"{name}.ipynb"
    run = subprocess.run(
        [sys.executable, "-m", "tests.examples.notebook", str(path)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [shown(cell) for cell in code_cells(path)]


def test_notebooks_are_linked():
    assert len(NOTEBOOKS) == 5
    index, readme = (ROOT / "docs/index.md").read_text(), (ROOT / "README.md").read_text()
    for name in NOTEBOOKS:
        assert f"]({'notebooks/' + name}.ipynb)" in index
        assert f"](docs/notebooks/{name}.ipynb)" in readme
