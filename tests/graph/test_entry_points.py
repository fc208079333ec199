"""The names that packages provide: in a source checkout, and once they are installed."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneflow.graph import entry_points
from oneflow.graph.entry_points import load_entry_point
from tests.distributed.launching import ROOT

GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]


@pytest.mark.parametrize("group", GROUPS)
def test_every_declared_name_is_there(group: str) -> None:
    for name, reference in GROUPS[group].items():
        module, _, attribute = reference.partition(":")
        value = load_entry_point(group, name)
        assert (value.__module__ if attribute else value.__name__) == module


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an installed package, and no source checkout."""
    monkeypatch.setattr(entry_points, "_PROJECT_FILE", tmp_path / "pyproject.toml")
    entry_points._in_source_tree.cache_clear()
    information = tmp_path / "provider-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: provider\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[tests.group]\nsqrt = math:sqrt\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    entry_points._in_source_tree.cache_clear()


def test_installed_packages_are_found(installed: Path) -> None:
    assert load_entry_point("tests.group", "sqrt")(9) == 3
    with pytest.raises(ImportError, match="declares the entry point"):
        load_entry_point("tests.other", "sqrt")


def test_a_checkout_comes_before_what_is_installed(installed: Path) -> None:
    (installed / "pyproject.toml").write_text(
        '[project.entry-points."tests.group"]\nsqrt = "math:isqrt"\n'
    )
    assert load_entry_point("tests.group", "sqrt")(10) == 3
    (installed / "pyproject.toml").write_text('[project]\nname = "another"\n')
    entry_points._in_source_tree.cache_clear()
    assert load_entry_point("tests.group", "sqrt")(9) == 3


def test_the_core_names_no_module_for_onnx() -> None:
    """The commands of `python -m oneflow` apart, which run the package as a program."""
    naming = {
        path.name
        for path in (ROOT / "src" / "oneflow").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("oneflow_onnx")
    }
    assert naming == {"commands.py"}
