"""Names of PyTorch are looked up in several threads, while others import modules."""

from __future__ import annotations

import importlib
import io
import sys
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest
import torch

from oneflow.mock_torch.importer import IMPORTER
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.tensor.subclasses import overridable
from tests.checkpoint.both_libraries import OURS, saved

_COUNT = 15


def _model(library: Any) -> Any:
    layers = library.nn.Linear(2, 2), library.nn.ReLU(), library.nn.Dropout()
    return library.nn.Sequential(*layers)


def _run(*functions: Callable[[], None]) -> list[BaseException]:
    """Run functions in threads that take turns often; returns what they raised."""
    errors: list[BaseException] = []

    def attempt(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        threads = [threading.Thread(target=attempt, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return errors


def _import_modules() -> None:
    for index in range(400 * _COUNT):
        sys.modules[f"_imported_{index}"] = ModuleType("_imported")
        assert importlib.import_module("torch") is torch
        assert importlib.import_module("torch.nn") is torch.nn
    for index in range(400 * _COUNT):
        del sys.modules[f"_imported_{index}"]


def test_files_are_loaded_in_threads_while_another_imports_modules() -> None:
    content = saved(torch, _model(torch)).getvalue()

    def load() -> None:
        for _ in range(_COUNT):
            model = OURS.load(io.BytesIO(content), weights_only=False)
            assert isinstance(model[0], OURS.nn.Linear)

    genuine = {name: module for name, module in sys.modules.items() if name.startswith("torch")}
    assert _run(load, load, load, _import_modules) == []
    assert not IMPORTER.enabled
    assert {name: sys.modules.get(name) for name in genuine} == genuine


def test_looking_up_a_name_switches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(torch, _model(torch)).getvalue()
    monkeypatch.setattr(IMPORTER, "switch", lambda enabled: pytest.fail("switched"))
    OURS.load(io.BytesIO(content), weights_only=False)
    saved(OURS, _model(OURS))


def test_a_module_aside_is_the_one_that_programs_import(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.modules.copy()
    name = "torch.nn.utils.stateless"
    monkeypatch.delitem(IMPORTER._others, name, raising=False)
    aside = MODULE_IN_PLACE.value(name)
    assert sys.modules.get(name) is before.get(name)
    enabled = IMPORTER.switch(True)
    try:
        assert importlib.import_module(name) is aside
        assert aside.__spec__ is not None
        assert aside.__spec__.name == name
    finally:
        IMPORTER.switch(enabled)


def test_a_module_that_does_not_exist_is_refused_aside() -> None:
    with pytest.raises(ModuleNotFoundError, match="not implemented"):
        MODULE_IN_PLACE.value("torch.no_such_module")


def test_one_module_is_made_for_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "torch.nn.utils.stateless"
    monkeypatch.delitem(IMPORTER._others, name, raising=False)
    modules: list[ModuleType] = []
    look_up = lambda: modules.append(MODULE_IN_PLACE.value(name))  # noqa: E731
    assert _run(*[look_up] * 4) == []
    assert len(modules) == 4
    assert all(module is modules[0] for module in modules)


def test_threads_that_import_modules_at_once_copy_a_function_once() -> None:
    copies: dict[FunctionType, list[FunctionType]] = {
        FunctionType(_model.__code__, globals(), f"_function_{index}"): [] for index in range(200)
    }

    def copy_all() -> None:
        for function, of_threads in copies.items():
            of_threads.append(overridable(function))

    assert _run(*[copy_all] * 4) == []
    assert all(len(of_threads) == 4 for of_threads in copies.values())
    assert all(len(set(of_threads)) == 1 for of_threads in copies.values())


def test_switches_last_while_another_thread_imports_modules() -> None:
    def switch() -> None:
        for _ in range(200):
            IMPORTER.switch(IMPORTER.switch(True))

    def add_modules() -> None:
        for index in range(20_000):
            sys.modules[f"_imported_{index}"] = ModuleType("_imported")
        for index in range(20_000):
            del sys.modules[f"_imported_{index}"]

    assert _run(switch, add_modules) == []
    assert not IMPORTER.enabled
    assert sys.modules["torch"] is torch


class _Proxy:
    """An object that does not say what it is, as those of web servers outside a request."""

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RuntimeError("outside of a request")


def test_switches_last_beside_objects_that_do_not_say_what_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("_package_with_proxies")
    vars(module)["request"] = _Proxy()
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(IMPORTER, "_packages", {module.__name__})
    IMPORTER.switch(IMPORTER.switch(True))
    assert not IMPORTER.enabled
    assert sys.modules["torch"] is torch
