"""`oneflow.mock_torch`: programs written for PyTorch find `oneflow` under its name."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from oneflow.mock_torch import __main__ as command
from oneflow.mock_torch.pytorch import nn as pytorch_nn, optim as pytorch_optim
from oneflow.mock_torch.pytorch.nn import normalization as pytorch_layers
from oneflow.mock_torch.pytorch.optim import (
    lr_scheduler as pytorch_schedules,
    optimizers as pytorch_optimizers,
)


def imported(name):
    return importlib.import_module(name)


def test_names_are_those_of_oneflow():
    pytorch = torch
    with mock_torch.enable():
        mocked = imported("torch")
        assert mocked is not pytorch
        assert mocked.__package__ == "oneflow"
        assert mocked.Tensor is flow.Tensor
        assert flow.mock_torch is mock_torch
        assert mocked.nn.Linear is imported("torch.nn").Linear is flow.nn.Linear
        relu = imported("torch.nn.functional").relu  # which may ask subclasses
        assert inspect.unwrap(relu) is inspect.unwrap(flow.nn.functional.relu)
        assert imported("torch.nn.modules.instancenorm").InstanceNorm2d is flow.nn.InstanceNorm2d
        assert mocked.utils.data.DataLoader is flow.utils.data.DataLoader
        assert "relu" in dir(mocked.nn.functional)
    assert imported("torch") is torch


def test_modules_that_have_another_path_here():
    with mock_torch.enable():
        assert imported("torch.return_types").max is flow.return_types.max
        assert imported("torch.cuda.amp").autocast is flow.cuda.amp.autocast
        assert imported("torch.nn.attention").SDPBackend is flow.nn.attention.SDPBackend


def test_what_is_missing_says_so():
    with mock_torch.enable():
        mocked = imported("torch")
        for kind in (AttributeError, NotImplementedError):
            with pytest.raises(kind, match=r"oneflow\.no_such_name is not implemented"):
                _ = mocked.no_such_name
        assert not hasattr(mocked.nn, "no_such_name")
        with pytest.raises(ImportError, match="no_such_name"):
            exec("from torch.nn import no_such_name", {})
        with pytest.raises(ModuleNotFoundError, match=r"oneflow\.no_such is not implemented"):
            imported("torch.no_such")


def test_the_switch_is_taken_back():
    pytorch = torch
    with mock_torch.enable():
        mocked = imported("torch")
        with mock_torch.disable():
            assert imported("torch") is pytorch
            with mock_torch.enable():
                assert imported("torch") is mocked
        with mock_torch.enable():
            pass
        assert imported("torch") is mocked
    mock_torch.enable()
    try:
        assert imported("torch") is mocked
    finally:
        mock_torch.disable()
    assert imported("torch") is pytorch


def test_global_names_of_the_caller_change_with_the_switch():
    program = """
import torch
from torch.nn import functional as F
from oneflow import mock_torch

def packages():
    return torch.__package__, F.__name__, F.relu.__module__.partition(".")[0]

first = packages()
with mock_torch.enable():
    import torch as kept
    mocked = packages()
    with mock_torch.disable():
        inner = packages()
    nested = packages()
after = packages()
mock_torch.enable()
for_good = packages()
mock_torch.disable()
last = packages()
"""
    found: dict = {"__name__": "program"}
    exec(program, found)
    pytorch = ("torch", "torch.nn.functional", "torch")
    assert {found[name] for name in ("first", "inner", "after", "last")} == {pytorch}
    oneflow = ("oneflow", "torch.nn.functional", "oneflow")
    assert {found[name] for name in ("mocked", "nested", "for_good")} == {oneflow}
    assert found.pop("kept").__package__ == "torch"  # as `disable` was called for good
    exec("with mock_torch.enable():\n    import torch as kept", found)
    assert (found["kept"].__package__, found["torch"].__package__) == ("oneflow", "torch")


def test_dictionaries_of_modules_have_their_names():
    """As libraries look that register all classes of a module."""
    with mock_torch.enable():
        for path, name in (("nn", "Linear"), ("distributions", "Normal"), ("optim", "Adam")):
            module = imported(f"torch.{path}")
            assert vars(module)[name] is getattr(module, name)
            assert name in dict(inspect.getmembers(module, inspect.isclass))
        assert vars(imported("torch.optim"))["AdamW"] is pytorch_optim.AdamW


DEFAULTS = {
    f"{module}.{name}": (kind, getattr(importlib.import_module(module), name))
    for module, ours in (
        ("torch.nn", pytorch_layers),
        ("torch.optim", pytorch_optimizers),
        ("torch.optim.lr_scheduler", pytorch_schedules),
    )
    for name in ours.__all__
    for kind in [getattr(ours, name)]
}


def test_integers_like_a_tensor_have_its_dtype():
    with mock_torch.enable():
        drawn = imported("torch").randint_like(flow.ones(3), 2, 5)
    assert drawn.dtype is flow.float32
    assert set(drawn.tolist()) <= {2, 3, 4}
    assert flow.randint_like(flow.ones(3), 5).dtype is flow.int64


@pytest.mark.parametrize("name", ["AdamW", "RMSprop", "Adagrad", "LBFGS"])
def test_defaults_of_optimizers_are_pytorchs(name):
    ours, theirs = DEFAULTS[f"torch.optim.{name}"]
    assert issubclass(ours, getattr(flow.optim, name))
    mine = ours([flow.ones(1, requires_grad=True)]).defaults
    its = theirs([torch.ones(1, requires_grad=True)]).defaults
    assert {key: mine[key] for key in ("lr", "weight_decay") if key in mine} == {
        key: its[key] for key in ("lr", "weight_decay") if key in its
    }
    assert ours([flow.ones(1, requires_grad=True)], 0.5).defaults["lr"] == 0.5


def test_other_arguments_are_pytorchs():
    for name in ("PolynomialLR", "SequentialLR"):
        ours, theirs = DEFAULTS[f"torch.optim.lr_scheduler.{name}"]
        arguments = [
            list(inspect.signature(function).parameters.values()) for function in (ours, theirs)
        ]
        assert [(argument.name, argument.default) for argument in arguments[0]] == [
            (argument.name, argument.default) for argument in arguments[1]
        ]
    assert pytorch_nn.RMSNorm(2).eps is None


def rates(framework, schedules):
    parameter = framework.ones(1, requires_grad=True)
    optimizer = framework.optim.SGD([parameter], lr=0.1)
    schedule = schedules(framework.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(8):
        optimizer.step()
        schedule.step()
        found.append(schedule.get_last_lr()[0])
    return found


SCHEDULES = {
    "polynomial": lambda s, o: s.PolynomialLR(o, 5),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingLR(o, 12)], [4]
    ),
}


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.*")
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_pytorchs(name):
    expected = rates(torch, SCHEDULES[name])
    with mock_torch.enable():
        found = rates(imported("torch"), SCHEDULES[name])
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_rmsprop_adds_epsilon_to_the_root(momentum):
    def weights(framework, kind):
        weight = framework.tensor([1.0, -2.0], requires_grad=True)
        optimizer = kind([weight], eps=0.1, momentum=momentum)
        for _ in range(3):
            optimizer.zero_grad()
            (weight**2).sum().backward()
            optimizer.step()
        return weight.tolist()

    expected = weights(torch, torch.optim.RMSprop)
    assert weights(flow, pytorch_optim.RMSprop) == pytest.approx(expected)
    assert weights(flow, flow.optim.RMSprop) != pytest.approx(expected)


def test_a_shell_in_which_torch_is_oneflow(capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/some/where")
    command.main([])
    path = capsys.readouterr().out.strip().removeprefix("export PYTHONPATH=")
    assert path == f"{command.FOLDER}{os.pathsep}/some/where"
    program = (
        "import torch.nn as nn, torch; from torch import optim; "
        "print(torch.Tensor, optim.AdamW.__name__, type(nn.Linear(1, 1)(torch.ones(1, 1))))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([path, *sys.path])}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert printed.count("oneflow.tensor.tensor.Tensor") == 2
    monkeypatch.setenv("PYTHONPATH", path)
    command.main(["disable"])
    assert capsys.readouterr().out == "export PYTHONPATH=/some/where\n"


def test_a_script_in_which_torch_is_oneflow(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch\n"
        "weight = torch.nn.Parameter(torch.ones(1))\n"
        "print(torch.Tensor, torch.optim.AdamW([weight]).defaults['weight_decay'], sys.argv[1:])\n"
    )
    run = [sys.executable, "-m", "oneflow.mock_torch"]
    printed = subprocess.run(
        [*run, str(script), "--epochs", "3"], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == [
        "<class",
        "'oneflow.tensor.tensor.Tensor'>",
        "0.01",
        "['--epochs',",
        "'3']",
    ]
    missing = subprocess.run([*run, "nothing.py"], capture_output=True, text=True)
    assert missing.returncode == 2
    assert "there is no script `nothing.py`" in missing.stderr
