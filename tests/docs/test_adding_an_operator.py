"""The steps of `docs/add_an_operator.md` lead to an operator, in a copy of the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.distributed.launching import ROOT

PAGE = ROOT / "docs" / "add_an_operator.md"
STEP = re.compile(r"^   ```(python|sh)\n(.*?)^   ```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what the steps read and write."""
    ignored = shutil.ignore_patterns("__pycache__", "data")
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(command: str, folder: Path) -> str:
    """Run a command of the page; return what it printed."""
    done = subprocess.run(
        command.replace("python ", f"{sys.executable} "),
        shell=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.one_in(4)
def test_steps(copy: Path) -> None:
    steps = STEP.findall(PAGE.read_text(encoding="utf-8"))
    assert [language for language, _ in steps] == ["python", "python", "sh", "python", "sh"]
    printed = ""
    for language, indented in steps:
        code = textwrap.dedent(indented)
        if language == "sh":
            printed = run(code, copy)
        else:
            (copy / re.match(r"# (\S+)\n", code)[1]).write_text(code, encoding="utf-8")
    assert re.search(r"^\d+ passed", printed, re.MULTILINE), printed
    use = "import oneflow as flow; print(flow.ones(1).sloped_swish_(2.0))"
    assert run(f"python -c '{use}'", copy) == "tensor([0.8808], dtype=oneflow.float32)\n"
