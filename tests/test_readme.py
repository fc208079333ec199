"""The README: its programs run, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINK = re.compile(r"\]\(([^)]+)\)")
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_programs_learn(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "ONEFLOW_CPU_DEVICES": "4", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.1


def published() -> str:
    """Return the text that the package index shows, which has no files beside it."""
    text = TEXT
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for substitution in hook["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    return text


def test_links_lead_somewhere() -> None:
    files = [link for link in LINK.findall(TEXT) if "://" not in link]
    assert len(files) > 10
    assert [link for link in files if not (ROOT / link).exists()] == []


def test_links_of_the_package_index_are_absolute_and_paths_are_shown() -> None:
    text = published()
    assert all(link.startswith("https://") for link in LINK.findall(text))
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT)
    pages = [link for link in LINK.findall(TEXT) if "://" not in link and link not in pictures]
    assert [page for page in pages if f"(`{page}`)" not in text] == []
