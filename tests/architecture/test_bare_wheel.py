"""The package is imported without extras; the rest says which extra it needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SCRIPT = Path(__file__).with_name("import_modules.py")
# The extras that install packages; those for GPUs change nothing here, and `test` has all.
EXTRAS = [
    name
    for name in PROJECT["optional-dependencies"]
    if name != "test" and not name.startswith("cuda")
]
# Modules that need an extra, by the beginning of their names; all others are there without.
MODULES = {
    "onerec": ("oneflow.core.record", "oneflow.legacy.private_names.record"),
    "onnx": ("oneflow_onnx",),
    "serving": ("oneflow.serving.",),
}
HINT = re.compile(
    r"ModuleNotFoundError: .*needs the package `[\w.]+`: pip install 'oneflow-xla\[(\w+)\]'"
)


def test_modules_import_without_the_packages_of_extras():
    assert_extras_are_named(import_errors(sys.executable, *packages_of_extras()))


def test_an_image_without_pillow_says_which_extra_has_it():
    script = (
        "import sys\nsys.modules['PIL'] = None\n"
        "import oneflow as flow\nfrom flowvision.transforms import ToPILImage\n"
        "ToPILImage()(flow.ones(3, 2, 2))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "an image needs the package `PIL`: pip install 'oneflow-xla[vision]'" in done.stderr


@pytest.mark.parametrize(
    ("command", "name"), [("onnx", "onnx"), ("serve", "serving")], ids=["onnx", "serve"]
)
def test_a_command_without_its_packages_says_which_extra_has_them(command, name):
    script = (
        "import sys\nsys.modules.update(onnx=None, grpc=None)\n"
        "from oneflow.command_line.commands import main\n"
        f"main(['{command}', '--help'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"pip install 'oneflow-xla[{name}]'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_the_wheel_in_an_environment_of_its_own(extra, sample, tmp_path):
    """The wheel, and what pip installs with it: nothing that happens to be in the tests' own."""
    sample.take_turns(["", *EXTRAS], extra)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv" / "bin" / "python")
    installed = f"{wheel}[{extra}]" if extra else str(wheel)
    run(python, "-m", "pip", "install", "-q", "--no-compile", installed)
    named = assert_extras_are_named(import_errors(python, folder=tmp_path))
    assert extra not in named


def assert_extras_are_named(errors: dict[str, str]) -> set[str]:
    """Check that all errors are the lack of an extra, which they name; return those extras."""
    hints = {name: HINT.fullmatch(error) for name, error in errors.items()}
    silent = {name: errors[name] for name, hint in hints.items() if hint is None}
    assert silent == {}
    named = {name: hint[1] for name, hint in hints.items() if hint is not None}
    assert set(named.values()) <= set(EXTRAS)
    wrong = {
        name: extra for name, extra in named.items() if not name.startswith(MODULES.get(extra, ()))
    }
    assert wrong == {}
    return set(named.values())


def import_errors(python: str, *hidden: str, folder: Path | None = None) -> dict[str, str]:
    """The errors of importing all modules in a new process.

    In a folder of its own it finds nothing by `PYTHONPATH`, which may lead to the sources.
    """
    isolated = ("-I",) if folder is not None else ()
    return json.loads(run(python, *isolated, str(SCRIPT), *hidden, folder=folder).splitlines()[-1])


def run(*command: str, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def packages_of_extras() -> list[str]:
    """The importable names of all that is installed and no dependency of the bare wheel."""
    needed = closure(PROJECT["dependencies"])
    names = packages_distributions()
    return sorted(
        name
        for name, owners in names.items()
        if not {canonicalize_name(owner) for owner in owners} & needed
        and name not in ("oneflow", "flowvision", "oneflow_onnx")
    )


def closure(requirements: list[str]) -> set[str]:
    """The distributions that requirements install, with all that those require."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            waiting += requires(name) or []
        except PackageNotFoundError:
            continue
    return found
