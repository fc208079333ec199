"""The installation of `oneflow_onnx`, and its requirements: less than upstream's."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import oneflow as flow
import oneflow_onnx
from oneflow import nn
from oneflow_onnx.x2oneflow.onnx2flow import (
    from_onnx,
    from_paddle,
    from_pytorch,
    from_tensorflow2,
)
from tests.onnx.runtime import operators_of

ROOT = Path(__file__).parents[2]


def project() -> dict:
    """The description of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))


def version_in(text: str, package: str) -> tuple[int, ...]:
    """The version that a list of requirements names for a package."""
    found = re.search(rf"^{package}[=>]=([\d.]+)", text, re.M)
    assert found is not None, f"{package} is not required"
    return tuple(map(int, found[1].split(".")))


def test_s004_03_s004_04_installation():
    described = project()
    assert "src/oneflow_onnx" in described["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = "\n".join(described["project"]["optional-dependencies"]["onnx"])
    assert version_in(needed, "onnx") >= (1, 8)
    assert version_in(needed, "onnxruntime") >= (1, 6)


def test_s004_05_s004_06_s004_09_s001_115_requirements():
    """The stated requirements are what upstream needed at least, and what runs here."""
    described = project()["project"]
    assert version_in(f"python{described['requires-python']}", "python") >= (3, 5)
    assert sys.version_info[:2] >= version_in(f"python{described['requires-python']}", "python")
    needed = "\n".join(described["optional-dependencies"]["onnx"])
    for package, oldest in ((onnx, (1, 8)), (onnxruntime, (1, 9))):
        stated = version_in(needed, package.__name__)
        assert stated >= oldest
        assert tuple(map(int, package.__version__.split(".")[:2])) >= stated


def test_s004_07_s004_08_simplifier_and_optimizer_are_not_needed(monkeypatch):
    """Nodes that they would simplify are not written in the first place."""
    for name in ("onnxsim", "onnxoptimizer"):
        monkeypatch.setitem(sys.modules, name, None)
    model = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Identity(), nn.Linear(6, 2), nn.Flatten())
    model.eval()
    proto = flow.onnx.export(model, flow.randn(2, 3, 2))
    assert operators_of(proto) == ["Reshape", "Gemm"]
    x = flow.randn(2, 3, 2)
    np.testing.assert_allclose(from_onnx(proto)(x).numpy(), model(x).detach().numpy(), rtol=1e-4)


def test_s004_10_oneflow():
    assert oneflow_onnx.__version__ == flow.__version__
    assert callable(flow.global_function)


@pytest.mark.parametrize(
    ("framework", "package", "function", "oldest"),
    [
        pytest.param("pytorch", "torch", from_pytorch, (1, 7), id="s004_11"),
        pytest.param("paddle", "paddle", from_paddle, (2, 0), id="s004_12"),
        pytest.param("tensorflow", "tensorflow", from_tensorflow2, (2, 0), id="s004_13"),
    ],
)
def test_frameworks(framework, package, function, oldest, monkeypatch):
    """Each is needed by its own function only, which says so."""
    required = (ROOT / "requirements" / "x2oneflow" / f"{framework}.txt").read_text("utf8")
    names = {"paddle": "paddlepaddle", "tensorflow": "tensorflow-cpu"}
    assert version_in(required, names.get(package, package)) >= oldest
    assert not any(name.startswith(package) for name in project()["project"]["dependencies"])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs the package `{package}`"):
        function(None, flow.ones(1))
