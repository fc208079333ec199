"""`mock_torch.enable(main_pkg=...)`: a package that is held twice, for each PyTorch once."""

import importlib
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from oneflow.mock_torch.dependents import dependents
from oneflow.mock_torch.mock_importer import _importer

PACKAGES = {
    "layers_pkg": "import torch\nclass Layer(torch.nn.Linear):\n    pass\n",
    "model_pkg": "import torch\nimport layers_pkg, plain_pkg\nlayer = layers_pkg.Layer(2, 2)\n",
    "plain_pkg": "value = object()\n",
    # None of these holds a module of PyTorch.
    "class_pkg": "from torch.nn import Linear\nclass Layer(Linear):\n    pass\n",
    "user_pkg": "from class_pkg import Layer\nlayer = Layer(2, 2)\n",
}
REQUIREMENTS = {
    "layers_pkg": ["torch>=2"],
    "model_pkg": ["plain.pkg", "Layers_Pkg[extra]; extra == 'all'"],
    "plain_pkg": [],
    "class_pkg": ["torch"],
    "user_pkg": ["class.pkg"],
}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in PACKAGES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
        (tmp_path / name / "part.py").write_text("import torch\nzeros = torch.zeros(1)\n")
        information = tmp_path / f"{name}-1.0.dist-info"
        information.mkdir()
        lines = [f"Requires-Dist: {requirement}" for requirement in REQUIREMENTS[name]]
        header = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
        (information / "METADATA").write_text("\n".join([*header, *lines]) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    dependents.cache_clear()
    yield tmp_path
    for switch in (mock_torch.disable, mock_torch.enable):
        with switch():
            for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
                del sys.modules[name]


def test_dependents_are_found_by_what_packages_require(packages):
    assert dependents("model_pkg") == {"model_pkg", "layers_pkg"}
    assert dependents("plain_pkg") == {"plain_pkg"}
    assert dependents("model_pkg", ("plain-pkg",)) == {"model_pkg"}
    assert dependents("no_such_package") == {"no_such_package"}


def test_a_package_is_held_for_each_pytorch(packages):
    theirs = importlib.import_module("model_pkg")
    plain = sys.modules["plain_pkg"]
    for _ in range(2):
        with mock_torch.enable(main_pkg="model_pkg"):
            ours = importlib.import_module("model_pkg")
            part = importlib.import_module("model_pkg.part")
            assert sys.modules["plain_pkg"] is plain
        assert isinstance(ours.layer, flow.nn.Linear)
        assert isinstance(part.zeros, flow.Tensor)
        assert importlib.import_module("model_pkg") is theirs
        assert isinstance(theirs.layer, torch.nn.Linear)
        assert isinstance(importlib.import_module("model_pkg.part").zeros, torch.Tensor)
    assert ours is not theirs
    assert sys.modules["layers_pkg"].Layer is type(theirs.layer)
    with mock_torch.enable():  # from now on without being named
        assert importlib.import_module("model_pkg") is ours
        with mock_torch.disable():
            assert importlib.import_module("model_pkg") is theirs


def test_packages_that_hold_classes_and_objects_alone(packages):
    theirs = importlib.import_module("user_pkg")
    with mock_torch.enable(main_pkg="user_pkg"):
        ours = importlib.import_module("user_pkg")
    assert isinstance(ours.layer, flow.nn.Linear)
    assert isinstance(theirs.layer, torch.nn.Linear)
    assert importlib.import_module("user_pkg") is theirs


def test_distributions_that_are_called_otherwise_than_their_packages(packages):
    (packages / "class_pkg-1.0.dist-info").rename(packages / "open_class_torch-1.0.dist-info")
    information = packages / "open_class_torch-1.0.dist-info"
    information.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: open-class-torch\nVersion: 1.0\nRequires-Dist: torch\n"
    )
    information.joinpath("RECORD").write_text("class_pkg/__init__.py,,\n")
    metadata = packages / "user_pkg-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("class.pkg", "open_class.torch"))
    importlib.invalidate_caches()
    assert dependents("user_pkg") == {"user_pkg", "class_pkg"}


def test_extension_modules_are_held_once(packages, monkeypatch):
    extension = types.ModuleType("layers_pkg.fast")
    extension.__loader__ = importlib.machinery.ExtensionFileLoader("layers_pkg.fast", "fast.so")
    (packages / "layers_pkg" / "__init__.py").write_text(
        "import torch\nimport layers_pkg.fast\nfast_one = layers_pkg.fast\n"
    )
    monkeypatch.setitem(sys.modules, "layers_pkg.fast", extension)
    with mock_torch.enable(main_pkg="layers_pkg"):
        ours = importlib.import_module("layers_pkg")
    theirs = importlib.import_module("layers_pkg")
    assert ours is not theirs
    assert ours.fast_one is theirs.fast_one is extension


@pytest.mark.parametrize("name", ["", "diffusers.models", ["diffusers"]])
def test_names_that_are_no_packages_are_refused(name):
    with pytest.raises((ValueError, TypeError), match="main_pkg"):
        mock_torch.enable(main_pkg=name)
    assert not _importer.enable


def test_a_package_that_was_imported_for_oneflow_first(packages):
    with mock_torch.enable():
        ours = importlib.import_module("layers_pkg")
    with mock_torch.enable(main_pkg="layers_pkg"):
        assert importlib.import_module("layers_pkg") is ours
    theirs = importlib.import_module("layers_pkg")
    assert issubclass(theirs.Layer, torch.nn.Module)
    assert issubclass(ours.Layer, flow.nn.Module)


def test_names_of_the_caller_change_with_their_package(packages):
    program = """
    import model_pkg
    from oneflow import mock_torch
    import oneflow, torch
    theirs = [model_pkg, torch]  # a global name of a module would change as well
    with mock_torch.enable(main_pkg="model_pkg", mock_version=True, required_dependencies=[]):
        assert isinstance(model_pkg.layer, oneflow.nn.Module)
    assert [model_pkg, torch] == theirs and isinstance(model_pkg.layer, torch.nn.Module)
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={"PYTHONPATH": f"{packages}:{Path(flow.__file__).parents[1]}"},
        check=True,
    )


def test_a_package_that_cannot_be_imported_changes_nothing(packages):
    (packages / "layers_pkg" / "__init__.py").write_text(
        "import torch\nif torch.__package__ == 'oneflow':\n    raise RuntimeError('for PyTorch')\n"
    )
    names = {"__name__": "program", "mock_torch": mock_torch}
    exec("import layers_pkg", names)
    with pytest.raises(RuntimeError, match="for PyTorch"):
        exec("mock_torch.enable(lazy=True, main_pkg='layers_pkg')", names)
    assert not _importer.enable
    assert sys.modules["layers_pkg"] is names["layers_pkg"]
    with mock_torch.enable():
        assert not hasattr(importlib.import_module("torch"), "no_such_name")


def test_converters_ask_the_importer_what_was_imported(packages):
    assert not _importer.enable
    with mock_torch.enable(main_pkg="layers_pkg"):
        importlib.import_module("layers_pkg.part")
        assert _importer.enable
        assert _importer.delete_list[:2] == ["layers_pkg", "layers_pkg.part"]
    with mock_torch.enable():
        assert _importer.delete_list == []
