"""`mock_torch.enable(lazy=..., verbose=..., extra_dict=...)`: what stands for missing names."""

import importlib
import os
import subprocess
import sys

import pytest

from oneflow import mock_torch
from oneflow.mock_torch.__main__ import main

PROGRAM = """
import torch
import torch.no_such_package.part as part
from torch.no_such_package import Thing
from torch.nn import NoSuchLayer

class Own(torch.NoSuchBase):
    pass

@torch.no_such_decorator(fast=True)
def traced(x):
    return x

found = hasattr(torch, "no_such_name"), getattr(torch, "no_such_name", 3), Own.__bases__
instance = isinstance(torch.zeros(1), torch.NoSuchTensor), bool(Thing), bool(NoSuchLayer)
annotation = str(torch.NoSuchTensor["float"]), str(part.deep)
there = torch.relu(torch.tensor([-1.0, 2.0])).tolist()
"""


def test_placeholders_stand_for_missing_names():
    with mock_torch.enable(lazy=True):
        found: dict = {"__name__": "program"}
        exec(PROGRAM, found)
    assert found["found"] == (False, 3, (object,))
    assert found["instance"] == (False, False, False)
    assert found["annotation"] == (
        "<placeholder for torch.NoSuchTensor['float']>",
        "<placeholder for torch.no_such_package.part.deep>",
    )
    assert found["there"] == [0.0, 2.0]


@pytest.mark.parametrize("line", ["import torch.no_such_package", "import torch; torch.no_such"])
def test_they_end_with_the_block(line):
    with mock_torch.enable(lazy=True), mock_torch.enable():
        exec(line, {})
    with mock_torch.enable(), pytest.raises((ModuleNotFoundError, AttributeError), match="not imp"):
        exec(line, {})


def test_missing_names_are_printed(capsys):
    with mock_torch.enable(lazy=True, verbose=True):
        exec("import torch; torch.no_such.part()", {})
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["torch.no_such", "torch.no_such.part", "torch.no_such.part()"]


def test_other_modules_are_exchanged(tmp_path, monkeypatch):
    (tmp_path / "slow_kernels").mkdir()
    (tmp_path / "slow_kernels/__init__.py").write_text("NAME = 'slow'")
    (tmp_path / "slow_kernels/parts.py").write_text("NAME = 'slow part'")
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = importlib.import_module("slow_kernels.parts")
    with mock_torch.enable(extra_dict={"slow_kernels": "math", "no_such_kernels": "json"}):
        assert importlib.import_module("slow_kernels").floor(1.5) == 1
        assert importlib.import_module("no_such_kernels").loads("1") == 1
    assert importlib.import_module("slow_kernels").NAME == "slow"
    assert importlib.import_module("slow_kernels.parts") is parts
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_kernels")


def test_a_module_that_is_missing_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "slow_kernels").mkdir()
    (tmp_path / "slow_kernels/__init__.py").touch()
    (tmp_path / "slow_kernels/parts.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    parts = importlib.import_module("slow_kernels.parts")
    kernels, genuine = importlib.import_module("slow_kernels"), importlib.import_module("torch")
    others = {"json": "math", "slow_kernels": "no_such_module"}
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        mock_torch.enable(lazy=True, extra_dict=others)
    assert importlib.import_module("torch") is genuine
    assert importlib.import_module("slow_kernels") is kernels
    assert importlib.import_module("slow_kernels.parts") is parts
    assert importlib.import_module("json").__name__ == "json"
    with mock_torch.enable(), pytest.raises(AttributeError):
        importlib.import_module("torch").no_such_name  # noqa: B018


def test_the_command_keeps_variables_of_the_environment(monkeypatch, capsys):
    monkeypatch.setenv("ONEFLOW_MOCK_TORCH_LAZY", "1")
    written = []
    for flags in ([], ["--lazy"], ["--no-lazy", "--verbose"]):
        main(flags)
        words = capsys.readouterr().out.split()
        written.append([word for word in words if word.startswith("ONEFLOW")])
    lazy, verbose = "ONEFLOW_MOCK_TORCH_LAZY", "ONEFLOW_MOCK_TORCH_VERBOSE"
    assert written == [[], [f"{lazy}=1"], [f"{lazy}=0", f"{verbose}=1"]]


@pytest.mark.parametrize(("setting", "package"), [("1", "torch"), ("0", "oneflow")])
def test_the_environment_disables_it(monkeypatch, setting, package):
    monkeypatch.setenv("ONEFLOW_DISABLE_MOCK_TORCH", setting)
    json = importlib.import_module("json")
    with mock_torch.enable(extra_dict={"json": "math"}):
        assert importlib.import_module("torch").__package__ == package
        assert (importlib.import_module("json") is json) is (package == "torch")
    assert importlib.import_module("json") is json
    assert importlib.import_module("torch").__package__ == "torch"


def test_options_of_the_command(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch; print(torch.no_such_name, torch.__package__)")
    command = [sys.executable, "-m", "oneflow.mock_torch", "--lazy", str(script)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "<placeholder for torch.no_such_name> oneflow\n", done.stderr
