"""The planner's command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oneflow.plan.command import function_named, make_plan, parse_args

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "examples/plans.py"


def run(*arguments):
    command = [sys.executable, "-m", "oneflow.plan", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("ONEFLOW_CPU_DEVICES", None)
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_mesh_of_devices_that_are_not_there():
    result = run(f"{EXAMPLE}:mlp", "--ranks", "4x8", "width=64", "layers=2", "strategy=2d")
    assert result.returncode == 0, result.stderr
    assert "4 x 8 = 32 cuda devices" in result.stdout
    assert "XLA: its own estimate" in result.stdout
    # The layer's outputs are split over the second dimension of the mesh.
    assert "(B, S(0))  [8, 784]" in result.stdout


def test_thousands_of_devices_by_the_model():
    result = run(f"{EXAMPLE}:wide_deep", "--ranks", "4096", "--edges")
    assert result.returncode == 0, result.stderr
    assert "4096 cuda devices" in result.stdout
    assert "embedding_backward" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plans.py"], "name a function"),
        (["plans.py:gpt", "--ranks", "4y4"], "must look like 8 or 8x512"),
        (["plans.py:gpt", "layers"], "is not NAME=VALUE"),
        (["plans.py:gpt", "--tokens", "0"], "--tokens must be positive, got 0"),
        (["plans.py:gpt", "--tokens", "-3"], "--tokens must be positive, got -3"),
        (["plans.py:gpt", "--price", "-1"], "--price must be a finite number from 0 on"),
        (["plans.py:gpt", "--price", "nan"], "--price must be a finite number from 0 on"),
        (["plans.py:gpt", "--search", "n=1,2", "--html", "f"], "--html shows one plan"),
        (["plans.py:gpt", "--compare", "n=1,2", "--edges"], "--edges shows one plan"),
        (["plans.py:gpt", "--search"], "give alternatives to compare"),
    ],
)
def test_what_cannot_be_meant(arguments, message, capsys):
    with pytest.raises(SystemExit):
        parse_args(arguments)
    assert message in capsys.readouterr().err


def test_functions_that_are_not_there():
    with pytest.raises(FileNotFoundError, match="no file nowhere"):
        function_named("nowhere/plans.py:gpt")
    with pytest.raises(AttributeError):
        function_named(f"{ROOT / EXAMPLE}:nothing")


def test_functions_that_return_something_else():
    with pytest.raises(TypeError, match="must return a graph and a tuple"):
        make_plan(lambda placement: 3, None, {})
