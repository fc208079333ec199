"""Files that PyTorch reads hold its names where it has them, and this package's elsewhere."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.functional.registry import FUNCTIONS
from oneflow.mock_torch import pytorch_names
from oneflow.mock_torch.pytorch_names import name_of
from oneflow.nn.utils.parametrizations import _WeightNorm
from oneflow.random.generator import DrawCapture
from tests.checkpoint.both_libraries import DIRECTIONS, OURS, saved

# A function in PyTorch, or a class, alone: both are called.
_OF_ANOTHER_KIND = {
    ("torch.distributions.constraints", "dependent_property"),
    ("torch", "JITException"),  # `torch.jit.Error`, under its first name
}


def _in_pytorch(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def _has(module: str, name: str) -> bool:
    try:
        _in_pytorch(module, name)
    except (ImportError, AttributeError):
        return False
    return True


def _objects() -> Iterator[Any]:
    """Yield the classes and functions of this package, and those in PyTorch's place."""
    yield from pytorch_names._public_names()
    yield from FUNCTIONS.values()
    for home, module in sys.modules.copy().items():
        if home.partition(".")[0] == "oneflow":
            for member in list(vars(module).values()):
                if isinstance(member, type | FunctionType):
                    yield member


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def test_every_name_in_files_is_one_of_pytorch() -> None:
    places = {obj: place for obj in _objects() if (place := name_of(obj)) is not None}
    assert len(places) > 1_200
    assert sorted({".".join(place) for place in places.values() if not _has(*place)}) == []
    for obj, place in places.items():
        theirs = _in_pytorch(*place)
        if place in _OF_ANOTHER_KIND:
            continue
        assert isinstance(theirs, type) == isinstance(obj, type), place
        own = _plain(theirs.__name__)
        assert _plain(place[1]) in own or own in _plain(place[1]), (place, theirs)


@pytest.mark.parametrize("module", pytorch_names._ONLY_HERE)
def test_names_that_are_only_here_are_not_in_pytorch(module: str) -> None:
    place = pytorch_names.MODULE_IN_PLACE.value(module)
    for name in pytorch_names._ONLY_HERE[module].split():
        assert name in vars(place), name
        assert not _has(module, name), name


@pytest.mark.parametrize(
    ("obj", "place"),
    [
        (flow.return_types.topk, ("torch.return_types", "topk")),
        (OURS.eq, ("torch", "eq")),
        (flow.device, ("torch", "device")),
        (flow.Generator, ("torch", "Generator")),
        (flow.nn.Linear, ("torch.nn", "Linear")),
        (_WeightNorm, ("torch.nn.utils.parametrizations", "_WeightNorm")),
        (flow.nn.FusedMLP, None),
        (flow.placement, None),
        (DrawCapture, None),
        (flow.nn.functional.square_relu, None),
    ],
)
def test_objects_go_by_names_that_pytorch_has(obj: Any, place: tuple[str, str] | None) -> None:
    assert name_of(obj) == place


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    ("operator", "arguments"),
    [("max", (0,)), ("sort", (0,)), ("kthvalue", (1, 0)), ("linalg.slogdet", ()), ("svd", ())],
)
def test_results_with_named_parts_cross(
    direction: str, operator: str, arguments: tuple[int, ...]
) -> None:
    writer, reader = DIRECTIONS[direction]

    def call(library: Any) -> Any:
        x = library.tensor([[2.0, 1.0], [1.0, 3.0]])
        function = functools.reduce(getattr, operator.split("."), library)
        return function(x, *arguments)

    result = reader.load(saved(writer, call(writer)), weights_only=False)
    expected = call(reader)
    assert type(result) is type(expected)
    for part, expected_part in zip(result, expected, strict=True):
        np.testing.assert_allclose(part.numpy(), expected_part.numpy(), atol=1e-6)


@pytest.mark.parametrize("name", ["QuickGELU", "SquareReLU"])
def test_what_pytorch_lacks_comes_back_here(name: str) -> None:
    layer = OURS.load(saved(OURS, getattr(flow.nn, name)()), weights_only=False)
    assert type(layer) is getattr(flow.nn, name)


@pytest.mark.parametrize(
    "function", [flow.nn.functional.square_relu, OURS.nn.functional.quick_gelu]
)
def test_functions_that_pytorch_lacks_come_back_here(function: Any) -> None:
    assert OURS.load(saved(OURS, [function]), weights_only=False)[0] is function
