"""Packages of code and objects, which PyTorch reads, as those of PyTorch are read here."""

from __future__ import annotations

import io
import pickle
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.package

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
PACKAGE = in_place_of("torch.package")
SOURCES = {
    "packaged/__init__.py": "from packaged.parts import scale\n",
    "packaged/parts.py": "import math\n\ndef scale(x):\n    return x * 2\n",
    "packaged/records.py": (
        "from . import parts\n\n\nclass Record:\n    def __init__(self, content):\n"
        "        self.content = content\n\n    def scaled(self):\n"
        "        return parts.scale(self.content)\n"
    ),
}


@pytest.fixture(autouse=True)
def _sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, source in SOURCES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "packaged"]:
        del sys.modules[name]


def _record(content: Any) -> Any:
    from packaged.records import Record

    return Record(content)


def _saved(library: Any, content: Any, describe: Callable[[Any], None] | None = None) -> io.BytesIO:
    file = io.BytesIO()
    with library.PackageExporter(file) as exporter:
        (describe or (lambda exporter: exporter.intern("packaged.**")))(exporter)
        exporter.save_pickle("records", "first.pkl", _record(content))
    file.seek(0)
    return file


def _loaded(library: Any, file: Any) -> Any:
    return library.PackageImporter(file).load_pickle("records", "first.pkl")


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("reads_here", [True, False])
@pytest.mark.parametrize("writes_here", [True, False])
def test_packages_go_both_ways(writes_here: bool, reads_here: bool) -> None:
    writer, reader = (PACKAGE if here else torch.package for here in (writes_here, reads_here))
    source = OURS if writes_here else torch
    base = source.arange(6.0).reshape(2, 3)
    file = _saved(writer, {"rows": base, "row": base[1], "layer": source.nn.Linear(3, 2)})
    record = _loaded(reader, file)
    assert record.content["rows"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    # Both are cut from the same storage.
    record.content["rows"][1, 0] = 7.0
    assert record.content["row"].tolist() == [7.0, 4.0, 5.0]
    layer = record.content["layer"]
    assert isinstance(layer, OURS.nn.Linear if reads_here else torch.nn.Linear)
    assert layer.weight.requires_grad


def test_code_comes_from_the_package(tmp_path: Path) -> None:
    file = _saved(PACKAGE, 3)
    (tmp_path / "packaged" / "parts.py").write_text("def scale(x):\n    return None\n")
    first, second = _loaded(PACKAGE, file), None
    assert first.scaled() == 6
    assert type(first) is not type(_record(3))
    assert PACKAGE.is_from_package(first)
    assert not PACKAGE.is_from_package(_record(3))
    file.seek(0)
    second = _loaded(PACKAGE, file)
    assert type(first) is not type(second)


def test_objects_of_other_code_are_refused() -> None:
    loaded = _loaded(PACKAGE, _saved(PACKAGE, 3))
    expected = pytest.raises(pickle.PicklingError, match="not the one of the same name")
    with expected, PACKAGE.PackageExporter(io.BytesIO()) as exporter:
        exporter.save_pickle("records", "again.pkl", loaded)


@pytest.mark.parametrize(
    ("describe", "text"),
    [
        (lambda exporter: None, "did not match against any action pattern"),
        (lambda exporter: exporter.deny("packaged.**"), "denied"),
        (lambda exporter: exporter.mock("packaged.**"), "mocked out, but is still being used"),
    ],
)
def test_what_is_missing_is_said_as_by_pytorch(describe: Callable[[Any], None], text: str) -> None:
    for library in (PACKAGE, torch.package):
        with pytest.raises(library.PackagingError, match=text):
            _saved(library, 3, describe)


def test_modules_that_are_left_out_can_be_imported_and_not_used() -> None:
    def describe(exporter: Any) -> None:
        exporter.mock("packaged.parts")
        exporter.intern("packaged.**")

    loaded = _loaded(PACKAGE, _saved(PACKAGE, 3, describe))
    with pytest.raises(NotImplementedError, match="mocked out"):
        loaded.scaled()


def test_a_module_that_is_not_allowed_is_refused() -> None:
    file = io.BytesIO()
    with PACKAGE.PackageExporter(file) as exporter:
        exporter.extern("packaged.**")
        exporter.save_source_string("code", "import packaged.parts\n")
    file.seek(0)
    assert isinstance(PACKAGE.PackageImporter(file).import_module("code"), types.ModuleType)
    file.seek(0)
    with pytest.raises(ImportError, match=r"packaged\.parts"):
        PACKAGE.PackageImporter(file, lambda name: not name.startswith("packaged"))


def test_traced_modules_are_packaged() -> None:
    class Layer(OURS.nn.Module):
        def forward(self, x: Any) -> Any:
            return OURS.relu(x) + 1

    with enabled():
        traced = OURS.fx.symbolic_trace(Layer())
    file = io.BytesIO()
    with PACKAGE.PackageExporter(file) as exporter:
        exporter.save_pickle("models", "traced.pkl", traced)
    file.seek(0)
    loaded = PACKAGE.PackageImporter(file).load_pickle("models", "traced.pkl")
    assert loaded(OURS.tensor([-1.0, 2.0])).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a.*", ["a.b", "a.b.c", "a", "ab"]),
        ("a.**", ["a.b", "a.b.c", "a", "ab", "c.a"]),
        ("**.a", ["a", "b.a", "b.c.a", "ba"]),
        ("a*.b", ["a.b", "aa.b", "a.c.b"]),
    ],
)
def test_patterns_match_what_those_of_pytorch_match(pattern: str, names: list[str]) -> None:
    ours, theirs = PACKAGE.GlobGroup(pattern), torch.package.GlobGroup(pattern)
    assert [ours.matches(name) for name in names] == [theirs.matches(name) for name in names]
