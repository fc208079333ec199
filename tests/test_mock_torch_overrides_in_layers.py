"""Layers ask the ``__torch_function__`` of wrappers for what PyTorch's layers call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
LAYERS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda nn: nn.Linear(8, 2),
    "convolution": lambda nn: nn.Conv2d(3, 4, 3),
    "transposed convolution": lambda nn: nn.ConvTranspose2d(3, 4, 3),
    "max pool": lambda nn: nn.MaxPool2d(2),
    "average pool": lambda nn: nn.AvgPool2d(2),
    "adaptive pool": lambda nn: nn.AdaptiveAvgPool2d(1),
    "layer norm": lambda nn: nn.LayerNorm(8),
    "group norm": lambda nn: nn.GroupNorm(1, 3),
    "softmax": lambda nn: nn.Softmax(1),
    "relu": lambda nn: nn.ReLU(),
    "gelu": lambda nn: nn.GELU(),
    "sigmoid": lambda nn: nn.Sigmoid(),
}


def _wrapper(library: Any, log: list[str]) -> Any:
    class Wrapper(library.Tensor):
        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            return library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            if func.__name__ == "__get__":
                with library._C.DisableTorchFunctionSubclass():
                    return func(*args, **(kwargs or {}))
            log.append(f"{func.__name__} {len(args)}")
            return func(*(x.inner if isinstance(x, cls) else x for x in args), **(kwargs or {}))

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            raise NotImplementedError(f"{func} was not asked for above")

    return Wrapper


def _calls(name: str, library: Any) -> list[str]:
    log: list[str] = []
    kind = _wrapper(library, log)
    layer = LAYERS[name](library.nn)
    result = layer(kind(library.ones(2, 3, 8, 8)))
    return [*log, type(result).__name__, str(tuple(result.shape))]


@pytest.mark.parametrize("name", LAYERS)
def test_inputs_of_layers_are_asked(name: str) -> None:
    with enabled():
        ours = _calls(name, OURS)
    theirs = _calls(name, torch)
    assert [entry.split()[0] for entry in ours] == [entry.split()[0] for entry in theirs]


def test_weights_of_layers_are_asked() -> None:
    def program(library: Any) -> list[str]:
        log: list[str] = []
        layer = library.nn.Linear(3, 2)
        weight = _wrapper(library, log)(library.ones(2, 3))
        with library._C.DisableTorchFunctionSubclass():
            vars(layer)["_parameters"]["weight"] = weight
        layer(library.ones(1, 3))
        return log

    with enabled():
        ours = program(OURS)
    assert ours == program(torch) == ["linear 3"]


def test_tables_of_layers_are_asked() -> None:
    def program(library: Any) -> list[str]:
        log: list[str] = []
        layer = library.nn.Embedding(3, 2)
        vars(layer)["_parameters"]["weight"] = _wrapper(library, log)(library.ones(3, 2))
        layer(library.tensor([1]))
        return log

    with enabled():
        ours = program(OURS)
    assert ours == program(torch) == ["embedding 2"]
