"""Whole models and states of training go from one library to the other by `torch.save`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.checkpoint.both_libraries import DIRECTIONS, OURS, saved


def _many(nn: Any) -> Any:
    """Layers that make 4 numbers of 4, one after the other."""
    activations = (
        nn.GELU(),
        nn.ReLU6(),
        nn.Hardshrink(),
        nn.Softshrink(0.1),
        nn.Softsign(),
        nn.ELU(),
    )
    norms = nn.LayerNorm(4), nn.Dropout(0.2), nn.AlphaDropout(0.2), nn.BatchNorm1d(4)
    return nn.Sequential(nn.Linear(4, 4), *norms, *activations)


def _images(nn: Any) -> Any:
    """Layers of images, from 4 numbers on."""
    widen = nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect")
    pools = nn.AvgPool2d(2, 1), nn.AdaptiveAvgPool2d(3), nn.AdaptiveMaxPool2d(2), nn.ZeroPad2d(1)
    shapes = nn.PixelShuffle(2), nn.Upsample(scale_factor=2), nn.ConvTranspose2d(1, 2, 2)
    return nn.Sequential(*widen, *pools, nn.GroupNorm(2, 4), *shapes, nn.Flatten())


#: Layers of 4 numbers.
LAYERS: dict[str, Callable[[Any], Any]] = {
    "many": _many,
    "images": _images,
    "signals": lambda nn: nn.Sequential(
        nn.Unflatten(1, (1, 4)), nn.AvgPool1d(2), nn.Conv1d(1, 2, 1), nn.AdaptiveMaxPool1d(1)
    ),
    "encoder": lambda nn: nn.TransformerEncoderLayer(4, 2, 8),
    "gelu encoder": lambda nn: nn.TransformerEncoderLayer(4, 2, 8, activation="gelu"),
    "recurrent": lambda nn: nn.LSTM(4, 3, 2, bidirectional=True),
    "gated": lambda nn: nn.GRU(4, 3),
    "cell": lambda nn: nn.RNNCell(4, 3, nonlinearity="relu"),
    "names": lambda nn: nn.ModuleDict({"a": nn.ModuleList([nn.Linear(4, 2)])})["a"][0],
}


def _numbers(outputs: Any) -> Any:
    return (outputs[0] if isinstance(outputs, tuple) else outputs).tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", LAYERS)
def test_whole_models(name: str, direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    model = LAYERS[name](writer.nn).eval()
    loaded = reader.load(saved(writer, model), weights_only=False)
    assert type(loaded).__name__ == type(model).__name__
    assert list(loaded.state_dict()) == list(model.state_dict())
    x = [[1.0, 2.0, -1.0, 0.5]]
    expected = _numbers(model(writer.tensor(x)))
    outputs = _numbers(loaded(reader.tensor(x)))
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)
    assert repr(loaded) == repr(LAYERS[name](reader.nn))
    _numbers(loaded.train()(reader.tensor(x * 2)))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_containers_and_distances(direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    ones = writer.nn.Parameter(writer.ones(2))
    value = {
        "distance": writer.nn.PairwiseDistance(p=1.0),
        "parameters": writer.nn.ParameterDict({"a": ones, "b": ones}),
        "list": writer.nn.ParameterList([ones]),
    }
    loaded = reader.load(saved(writer, value), weights_only=False)
    x = reader.tensor([[1.0, 2.0]])
    assert loaded["distance"](x, x + 1).tolist() == pytest.approx([2], abs=1e-4)
    assert list(loaded["parameters"]) == ["a", "b"]
    assert loaded["list"][0].tolist() == loaded["parameters"]["b"].tolist() == [1, 1]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_hooks_of_whole_models(direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    model = writer.nn.Linear(2, 2)
    model.register_forward_hook(_halve)
    model.register_forward_pre_hook(_with_keywords, with_kwargs=True)
    loaded = reader.load(saved(writer, model), weights_only=False)
    expected = model(writer.ones(1, 2), scale=3).tolist()
    np.testing.assert_allclose(loaded(reader.ones(1, 2), scale=3).tolist(), expected, rtol=1e-5)
    if reader is torch:
        return  # which may have the identifiers of hooks twice after that
    handle = loaded.register_forward_hook(_zero)
    assert not loaded(reader.ones(1, 2), scale=3).any()
    handle.remove()
    np.testing.assert_allclose(loaded(reader.ones(1, 2), scale=3).tolist(), expected, rtol=1e-5)


@pytest.mark.parametrize("direction", ["ours reads theirs", "ours reads ours"])
def test_whole_models_of_classes_that_are_declared_safe(direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    file = saved(writer, writer.nn.Sequential(writer.nn.Linear(2, 1)))
    with pytest.raises(pickle.UnpicklingError):
        reader.load(file)
    file.seek(0)
    with reader.serialization.safe_globals([reader.nn.Sequential, reader.nn.Linear, set]):
        assert len(reader.serialization.get_safe_globals()) == 3
        loaded = reader.load(file)
    assert loaded(reader.ones(1, 2)).shape == (1, 1)


def _state_of_its_own(library: Any) -> type:
    class Sized(library.nn.Module):
        """A module whose state is the arguments that make it."""

        def __init__(self, dim: int) -> None:
            super().__init__()
            self.dim = dim

        def __getstate__(self) -> dict[str, Any]:
            return {"dim": self.dim}

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__init__(**state)

    Sized.__qualname__ = "Sized"
    return Sized


def _state_without_a_cache(library: Any) -> type:
    class Cached(library.nn.Sequential):
        """A module that leaves an attribute out of its state."""

        def __getstate__(self) -> dict[str, Any]:
            return {name: value for name, value in vars(self).items() if name != "cache"}

    Cached.__qualname__ = "Cached"
    return Cached


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_modules_with_a_state_of_their_own(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = DIRECTIONS[direction]
    for make, argument in ((_state_of_its_own, 3), (_state_without_a_cache, writer.nn.ReLU())):
        kind = make(writer)
        name = kind.__name__
        monkeypatch.setitem(globals(), name, kind)
        model = kind(argument)
        model.cache = 1
        file = saved(writer, model)
        monkeypatch.setitem(globals(), name, kind if reader is writer else make(reader))
        loaded = reader.load(file, weights_only=False)
        assert not hasattr(loaded, "cache")
        loaded.register_forward_hook(_zero)
        if name == "Sized":
            assert loaded.dim == 3
        else:
            assert loaded(reader.ones(2)).tolist() == [0, 0]


def _of_ones(model: Any) -> Any:
    return model(OURS.ones(1, 2)).tolist()


#: Objects that are made otherwise here than in PyTorch, and what shows that they work.
OTHERWISE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "AveragedModel": (
        lambda library: library.optim.swa_utils.AveragedModel(library.nn.Linear(2, 1)),
        _of_ones,
    ),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_pytorch_cannot_read_is_said_and_saved_for_this_package(name: str) -> None:
    make, use = OTHERWISE[name]
    value = make(OURS)
    with pytest.warns(UserWarning, match=rf"whole {name}: .* `state_dict\(\)`"):
        file = saved(OURS, {"a": value})
    loaded = OURS.load(file, weights_only=False)["a"]
    outputs = use(loaded)
    if name != "LazyLinear":
        assert str(outputs) == str(use(value))
    assert b"new_of_this_package" in file.getvalue()


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
@pytest.mark.parametrize("direction", ["theirs reads ours", "ours reads ours"])
def test_whole_optimizers(name: str, direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    model = writer.nn.Linear(2, 1)
    options = {"lr": 0.1, **({"momentum": 0.9} if name == "SGD" else {})}
    optimizer = getattr(writer.optim, name)(model.parameters(), **options)
    _train(writer, model, optimizer, 2)
    loaded = reader.load(saved(writer, [model, optimizer]), weights_only=False)
    _train(writer, model, optimizer, 3)
    _train(reader, *loaded, 3)
    expected = model.weight.tolist()
    np.testing.assert_allclose(loaded[0].weight.tolist(), expected, rtol=1e-4, atol=1e-6)


def _halve(module: Any, inputs: Any, output: Any) -> Any:
    return output / 2


def _zero(module: Any, inputs: Any, output: Any) -> Any:
    return output * 0


def _with_keywords(module: Any, inputs: Any, keywords: Any) -> Any:
    return (inputs[0] * keywords.pop("scale"),), keywords


OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "RMSprop")


def _train(library: Any, model: Any, optimizer: Any, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        x = library.tensor([[1.0, 2.0], [-1.0, 0.5]])
        (model(x) ** 2).sum().backward()
        optimizer.step()


def _trained(library: Any, kind: str, steps: int) -> tuple[Any, Any]:
    model = library.nn.Linear(2, 1)
    with library.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.fill_((number + 1) / 4)
    options = {"lr": 0.01, **({"momentum": 0.9} if kind == "SGD" else {})}
    optimizer = getattr(library.optim, kind)(model.parameters(), **options)
    _train(library, model, optimizer, steps)
    return model, optimizer


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_training_goes_on_in_the_other_library(kind: str, direction: str) -> None:
    writer, reader = DIRECTIONS[direction]
    model, optimizer = _trained(writer, kind, 3)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}
    loaded = reader.load(saved(writer, state), weights_only=True)
    again, continued = _trained(reader, kind, 0)
    again.load_state_dict(loaded["model"])
    continued.load_state_dict(loaded["optimizer"])
    _train(reader, again, continued, 3)
    expected, _ = _trained(torch, kind, 6)
    for name, value in expected.state_dict().items():
        np.testing.assert_allclose(
            again.state_dict()[name].tolist(), value.tolist(), rtol=2e-5, atol=1e-6
        )
