"""Functions ask modes while there are any; some calls later they have their own code again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from oneflow.tensor.dispatch_functions import IDLE_CALLS
from tests.frames import frames_of
from tests.in_place import dispatch_enabled, in_place_of

OURS: Any = in_place_of("torch")
_DISPATCH_MODE: Any = in_place_of("torch.utils._python_dispatch").TorchDispatchMode
_FUNCTION_MODE: Any = in_place_of("torch.overrides").TorchFunctionMode
_LAYER = OURS.nn.LayerNorm(3).requires_grad_(False)
CALLS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + x,
    "method": lambda x: x.sum(0),
    "function": lambda x: OURS.sum(x, dim=0),
    "layer": lambda x: _LAYER(x),
    "property": lambda x: x.shape,
    "view": lambda x: x.T,
}


class _Counter:
    def __init__(self) -> None:
        super().__init__()
        self.count = 0


class _Dispatch(_Counter, _DISPATCH_MODE):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


class _Function(_Counter, _FUNCTION_MODE):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def _dispatch() -> Iterator[None]:
    with dispatch_enabled():
        yield


def _idle(x: Any) -> None:
    for _ in range(IDLE_CALLS):
        x.view(-1)


def _frames(name: str, x: Any) -> list[Any]:
    return frames_of(lambda: lambda: CALLS[name](x))


@pytest.mark.parametrize("kind", [_Dispatch, _Function])
@pytest.mark.parametrize("name", CALLS)
def test_calls_after_modes_are_those_of_before(name: str, kind: Any) -> None:
    x = OURS.ones(2, 3)
    _idle(x)
    for _ in range(100):  # until the eager mode knows them
        CALLS[name](x)
    expected = _frames(name, x)
    for _ in range(2):
        with kind() as mode:
            CALLS[name](x)
        assert mode.count or name == "property"
        assert _frames(name, x) != expected or (name, kind) == ("property", _Dispatch)
        _idle(x)
        assert _frames(name, x) == expected


def test_modes_of_other_threads_are_asked() -> None:
    x = OURS.ones(2, 3)
    with ThreadPoolExecutor(1) as thread:
        mode = _Dispatch()
        thread.submit(mode.__enter__).result()
        _idle(x)
        thread.submit(lambda: x + x).result()
        assert mode.count == 1
        thread.submit(mode.__exit__, None, None, None).result()


@pytest.mark.parametrize("way", ["constructor", "_make_subclass", "as_subclass"])
def test_classes_are_asked_for_ever(way: str) -> None:
    names: list[str] = []

    class Logged(OURS.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            names.append(str(func))
            with OURS._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    x = OURS.ones(2, 3)
    makers = {
        "constructor": Logged,
        "_make_subclass": lambda x: OURS.Tensor._make_subclass(Logged, x),
        "as_subclass": lambda x: x.as_subclass(Logged),
    }
    _idle(x)
    logged = makers[way](x)
    names.clear()
    with _Dispatch():
        x + x
    _idle(x)
    logged * 2
    assert names == ["aten.mul.Tensor"]
