"""Try the wheel in clean environments: every Python found, lowest and newest dependencies.

``python tools/matrix.py`` builds the wheel and prints a line for each combination; it exits with 1
if one fails. Environments are made below ``.venv-matrix`` and removed when they have passed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".venv-matrix"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TRIAL = ("-m", "oneflow", "doctor")


def pythons() -> Iterator[str]:
    """Yield the commands of the supported Pythons on this machine."""
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    for version in named:
        command = shutil.which(f"python{version}")
        if command and runs(command, "-c", "import ensurepip"):
            yield command


def lowest_versions() -> str:
    """Return constraints of pip: each dependency in the oldest version that is allowed."""
    return "".join(f"{text.replace('>=', '==')}\n" for text in PROJECT["dependencies"])


def runs(*command: str, cwd: Path | None = None) -> bool:
    """Run a command; return whether it succeeded."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode and cwd is not None:
        sys.stderr.write(done.stdout + done.stderr)
    return done.returncode == 0


def passes(python: str, versions: str, wheel: Path) -> bool:
    """Install the wheel in a new environment and try it, in an empty folder.

    Args:
        python: the command.
        versions: ``"lowest"`` or ``"newest"`` dependencies.
        wheel: the file.
    """
    environment = ENVIRONMENTS / f"{Path(python).name}-{versions}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        constraints = folder / "constraints.txt"
        constraints.write_text(lowest_versions() if versions == "lowest" else "")
        interpreter = str(environment / "bin" / "python")
        install = (interpreter, "-m", "pip", "install", "--quiet", "--constraint")
        passed = (
            runs(python, "-m", "venv", "--clear", str(environment), cwd=folder)
            and runs(*install, str(constraints), str(wheel), cwd=folder)
            and runs(interpreter, *TRIAL, cwd=folder)
        )
    if passed:
        shutil.rmtree(environment)
    return passed


def main() -> None:
    """Build the wheel and try all combinations."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(ROOT))
        if not runs(*build, "--wheel-dir", folder, cwd=ROOT):
            sys.exit("the wheel could not be built")
        wheel = next(Path(folder).glob("*.whl"))
        failed = 0
        for python in pythons():
            for versions in ("lowest", "newest"):
                passed = passes(python, versions, wheel)
                failed += not passed
                print(f"{Path(python).name}, {versions}: {'passes' if passed else 'FAILS'}")
    if failed:
        sys.exit(f"{failed} combination(s) failed; their environments are in {ENVIRONMENTS}")


if __name__ == "__main__":
    main()
