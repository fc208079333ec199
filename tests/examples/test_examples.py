"""The examples run as they are written."""

import argparse
import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.primitives.registry import PRIMITIVES, primitive

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# Examples that take seconds to run; one of them in a sample.
SLOW = ("legacy/lenet.py", "plans.py")


def load(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def swish():
    """The operator of the example, registered for this test only."""
    yield load("add_an_operator").swish
    del PRIMITIVES["sloped_swish"]


def test_an_added_operator_is_differentiable_twice(swish):
    values = np.array([-1.0, 0.0, 2.0], np.float32)
    ours = flow.tensor(values, requires_grad=True)
    theirs = torch.tensor(values, requires_grad=True)
    (first,) = flow.autograd.grad(swish(ours, 1.5).sum(), ours, create_graph=True)
    (expected,) = torch.autograd.grad(
        (theirs * torch.sigmoid(1.5 * theirs)).sum(), theirs, create_graph=True
    )
    np.testing.assert_allclose(first.numpy(), expected.detach().numpy(), rtol=1e-5)
    first.sum().backward()
    expected.sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-5)


def test_a_name_is_registered_once(swish):
    with pytest.raises(ValueError, match="already registered"):
        primitive("sloped_swish", lambda x: x)


@pytest.mark.one_in(2)
def test_a_job_function_trains_lenet_and_a_module_takes_its_variables(tmp_path, sample):
    sample.take_turns(SLOW, "legacy/lenet.py")
    command = [sys.executable, str(EXAMPLES / "legacy" / "lenet.py"), "--epochs", "1"]
    command += ["--output", str(tmp_path / "snapshot")]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    accuracy = re.search(r"held-out accuracy: ([\d.]+)%", run.stdout)
    assert float(accuracy[1]) > 70
    assert "the module agrees on 100.0% of them" in run.stdout
    assert (tmp_path / "snapshot" / "snapshot_done").exists()


def test_code_in_the_page_about_job_functions_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "job_functions.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    flow.clear_default_session()
    exec("\n".join(blocks), {"__name__": "docs_job_functions"})
    *losses, operator = capsys.readouterr().out.splitlines()
    assert float(losses[-1]) < float(losses[0])
    assert operator == "tensor([2., 2.], dtype=oneflow.float32)"
    flow.clear_default_session()


# Modules that other examples import.
PARTS = {"command_line", "curves", "digits", "twins"}
PROGRAMS = sorted(
    str(path.relative_to(EXAMPLES))
    for path in EXAMPLES.rglob("*.py")
    if path.stem not in PARTS and "vision" not in path.parts
)


@pytest.fixture(params=PROGRAMS)
def run_until_options(request, monkeypatch):
    """A function that runs an example up to its options, where it raises an exception.

    It returns the parser of the options, and what the example let through.
    """
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    primitives = set(PRIMITIVES)

    def run(raised):
        def parse_args(parser):
            parsers.append(parser)
            raise raised

        parsers = []
        monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
        with pytest.raises((SystemExit, KeyboardInterrupt)) as caught:
            runpy.run_path(str(EXAMPLES / request.param), run_name="__main__")
        return parsers[0], caught.value

    yield run
    for name in set(PRIMITIVES) - primitives:
        del PRIMITIVES[name]
    flow.clear_default_session()


def test_help_explains_every_option(run_until_options):
    parser, _ = run_until_options(SystemExit())
    assert parser.description
    assert [action.dest for action in parser._actions if not action.help] == []


def test_ctrl_c_ends_with_a_word(run_until_options):
    _, error = run_until_options(KeyboardInterrupt())
    assert isinstance(error, SystemExit)
    assert error.code == "stopped"


def test_the_readme_lists_every_example():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"\]\(([^)]+)\)", text))
    names = {f"{Path(program).parts[0]}" for program in PROGRAMS} | {"vision/train.py"}
    assert names <= listed


@pytest.mark.slow
@pytest.mark.one_in(2)
def test_plans_train(sample):
    sample.take_turns(SLOW, "plans.py")
    command = [sys.executable, str(EXAMPLES / "plans.py"), "--steps", "2", "--batch", "8"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert re.findall(r"^(\w+): [\d.]+ -> [\d.]+$", run.stdout, re.MULTILINE) == [
        "mlp",
        "gpt",
        "wide_deep",
    ]
