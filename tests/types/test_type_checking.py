"""Programs of users under type checkers: types are known throughout, and mistakes are found."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import oneflow

# One process runs mypy, which takes a while, and not at the end.
pytestmark = pytest.mark.xdist_group("types")
HERE = Path(__file__).parent
PACKAGE = Path(oneflow.__file__).parent
# Every expression in `training.py` must have a type without `Any` in it.
FLAGS = (
    "--config-file=mypy.ini",
    "--strict",
    "--disallow-any-expr",
    "--follow-imports=silent",
    "--no-error-summary",
)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The errors that mypy reports, by file."""
    found = subprocess.run(
        [sys.executable, "-m", "mypy", *FLAGS, "training.py", "mistakes.py"],
        cwd=HERE,
        env={
            **os.environ,
            "MYPYPATH": str(PACKAGE.parent),
            "MYPY_CACHE_DIR": str(tmp_path_factory.mktemp("mypy")),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert not found.stderr, found.stderr
    lines = [line for line in found.stdout.splitlines() if ": error: " in line]
    return {
        name: [line for line in lines if line.startswith(name)]
        for name in ("training.py", "mistakes.py")
    }


def mistakes(mark: str) -> set[int]:
    """The numbers of the lines of `mistakes.py` that end in a mark."""
    lines = (HERE / "mistakes.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(mark)}


def test_types_are_known_throughout_a_program(reported: dict[str, list[str]]) -> None:
    assert reported["training.py"] == []


def test_every_mistake_is_found(reported: dict[str, list[str]]) -> None:
    marked = mistakes("# mistake")
    found = {
        int(re.split(":", line)[1]) for line in reported["mistakes.py"] if "Expression" not in line
    }
    assert len(marked) >= 20
    assert found == marked


@pytest.mark.slow
@pytest.mark.one_in(4)
def test_pyright_finds_every_mistake_too() -> None:
    pytest.importorskip("pyright", reason="make venv")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    run = subprocess.run(
        [*command, str(HERE / "mistakes.py")],
        cwd=PACKAGE.parents[1],  # of the settings, by which Pyright finds the package
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(run.stdout)["generalDiagnostics"]
    assert {diagnostic["range"]["start"]["line"] + 1 for diagnostic in found} == mistakes(
        " mistake"
    )


def test_the_program_runs(tmp_path: Path) -> None:
    source = (HERE / "training.py").read_text()
    run = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path,
        env={**os.environ, "JAX_NUM_CPU_DEVICES": "2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("['stem.weight', 'stem.bias', ")


@pytest.mark.parametrize("package", ["oneflow", "flowvision", "oneflow_onnx"])
def test_packages_say_that_they_are_typed(package: str) -> None:
    assert (PACKAGE.parent / package / "py.typed").exists()
