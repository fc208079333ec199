"""Layers, parameters and buffers keep the classes of tensors that have a ``__torch_function__``."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
IMAGES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda nn: nn.Linear(8, 3),
    "convolution": lambda nn: nn.Conv2d(4, 3, 3),
    "transposed convolution": lambda nn: nn.ConvTranspose2d(4, 3, 2),
    "relu": lambda nn: nn.ReLU(),
    "gelu": lambda nn: nn.GELU(),
    "prelu": lambda nn: nn.PReLU(),
    "softmax": lambda nn: nn.Softmax(-1),
    "batch norm": lambda nn: nn.BatchNorm2d(4),
    "layer norm": lambda nn: nn.LayerNorm(8),
    "group norm": lambda nn: nn.GroupNorm(2, 4),
    "instance norm": lambda nn: nn.InstanceNorm2d(4),
    "dropout": lambda nn: nn.Dropout(0.5),
    "max pool": lambda nn: nn.MaxPool2d(2),
    "adaptive pool": lambda nn: nn.AdaptiveAvgPool2d(1),
    "upsample": lambda nn: nn.Upsample(scale_factor=2),
    "padding": lambda nn: nn.ReflectionPad2d(1),
    "pixel shuffle": lambda nn: nn.PixelShuffle(2),
    "identity": lambda nn: nn.Identity(),
    "flatten": lambda nn: nn.Flatten(),
    "sequence": lambda nn: nn.Sequential(nn.Conv2d(4, 3, 3), nn.ReLU(), nn.Flatten()),
}
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "cross entropy": lambda nn, x: nn.CrossEntropyLoss()(x, x.detach().softmax(1)),
    "squares": lambda nn, x: nn.MSELoss()(x, x * 2),
    "absolute": lambda nn, x: nn.L1Loss()(x, x * 2),
    "binary": lambda nn, x: nn.BCEWithLogitsLoss()(x, x.sigmoid()),
    "huber": lambda nn, x: nn.HuberLoss()(x, x * 2),
    "embedding": lambda nn, x: nn.Embedding(5, 2)(x.long().abs()),
    "bilinear": lambda nn, x: nn.Bilinear(3, 3, 2)(x, x),
    "attention": lambda nn, x: nn.MultiheadAttention(3, 1)(x, x, x)[0],
    "encoder": lambda nn, x: nn.TransformerEncoderLayer(3, 1, 4, batch_first=True)(x[None]),
}


def _marked(library: Any) -> Any:
    """A class that inherits its override."""
    return type("Marked", (library.Tensor,), {"__module__": __name__})


def _logging(library: Any, log: list[str]) -> Any:
    class Logging(library.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logging


def _beside(program: Callable[[Any], Any]) -> None:
    with enabled():
        ours = program(OURS)
    assert ours == program(torch)


@pytest.mark.parametrize("name", IMAGES)
def test_layers_keep_the_class(name: str) -> None:
    def program(library: Any) -> str:
        x = library.ones(2, 4, 8, 8).as_subclass(_marked(library))
        return type(IMAGES[name](library.nn)(x)).__name__

    _beside(program)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_keep_the_class(name: str) -> None:
    def program(library: Any) -> str:
        x = library.ones(4, 3).as_subclass(_marked(library))
        return type(LOSSES[name](library.nn, x)).__name__

    _beside(program)


@pytest.mark.parametrize("name", ["linear", "relu", "convolution", "dropout", "sequence"])
def test_the_override_sees_what_layers_call(name: str) -> None:
    def program(library: Any) -> list[str]:
        log: list[str] = []
        x = library.ones(2, 4, 8, 8).as_subclass(_logging(library, log))
        layer = IMAGES[name](library.nn)
        log.clear()
        layer(x)
        return log

    _beside(program)


def test_the_override_of_a_parameter_sees_its_layer() -> None:
    def program(library: Any) -> list[str]:
        log: list[str] = []
        kind = _logging(library, log)
        layer = library.nn.Linear(4, 3)
        layer.weight = library.nn.Parameter(library.ones(3, 4).as_subclass(kind))
        log.clear()
        return [type(layer(library.ones(2, 4))).__name__, *log]

    _beside(program)


PARAMETERS: dict[str, Callable[[Any, Any], Any]] = {
    "class": lambda lib, p: (type(p).__name__, isinstance(p, lib.nn.Parameter), p.is_leaf),
    "results": lambda lib, p: (type(p + 1).__name__, (p + 1).requires_grad),
    "clone": lambda lib, p: (type(p.clone()).__name__, isinstance(p.clone(), lib.nn.Parameter)),
    "detach": lambda lib, p: (type(p.detach()).__name__, isinstance(p.detach(), lib.nn.Parameter)),
    "again": lambda lib, p: type(lib.nn.Parameter(p)).__name__,
    "integers": lambda lib, p: type(lib.nn.Parameter(p.detach().long(), False)).__name__,
    "text": lambda lib, p: repr(p),
    "text of results": lambda lib, p: repr(p.detach() * 2),
    "pickle": lambda lib, p: _kind(lib, pickle.loads(pickle.dumps(p))),
    "file": lambda lib, p: _kind(lib, _saved(lib, p)),
    "list": lambda lib, p: [type(item).__name__ for item in lib.nn.ParameterList([p])],
    "module": lambda lib, p: _in_module(lib, p),
    "buffer": lambda lib, p: (
        type(lib.nn.Buffer(p)).__name__,
        isinstance(lib.nn.Buffer(p), lib.nn.Buffer),
        sorted(vars(lib.nn.Buffer(p))),
    ),
    "plain buffer": lambda lib, p: (
        type(lib.nn.Buffer(lib.ones(2))) is lib.Tensor,
        isinstance(lib.nn.Buffer(lib.ones(2)), lib.nn.Buffer),
        isinstance(lib.ones(2), lib.nn.Buffer),
    ),
}


def _kind(library: Any, parameter: Any) -> tuple[str, bool, bool]:
    is_parameter = isinstance(parameter, library.nn.Parameter)
    return type(parameter).__name__, is_parameter, parameter.requires_grad


def _saved(library: Any, parameter: Any) -> Any:
    file = io.BytesIO()
    library.save(parameter, file)
    file.seek(0)
    return library.load(file, weights_only=False)


def _in_module(library: Any, parameter: Any) -> Any:
    layer = library.nn.Linear(2, 2)
    layer.weight = parameter
    layer.noise = library.nn.Buffer(parameter.detach())
    state = {name: type(value).__name__ for name, value in layer.state_dict().items()}
    optimizer = library.optim.SGD(layer.parameters(), lr=0.5, momentum=0.9)
    layer(library.ones(1, 2)).sum().backward()
    optimizer.step()
    names = [(name, type(p).__name__) for name, p in layer.double().named_parameters()]
    return state, names, layer.weight.tolist(), [name for name, _ in layer.named_buffers()]


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_and_buffers_keep_the_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(library: Any) -> Any:
        kind = _marked(library)
        monkeypatch.setitem(globals(), "Marked", kind)
        values = library.tensor([[1.0, 2.0], [3.0, 4.0]])
        return PARAMETERS[name](library, library.nn.Parameter(values.as_subclass(kind)))

    _beside(program)


def test_only_its_base_looks_at_the_mark() -> None:
    def program(library: Any) -> list[bool]:
        class Own(library.nn.Parameter):
            pass

        marked = library.nn.Parameter(library.ones(2).as_subclass(_marked(library)))
        names = ("_ParameterMeta", "_BufferMeta")
        kinds = [getattr(library.nn.parameter, name) for name in names]
        return [
            isinstance(marked, Own),
            isinstance(marked, library.nn.UninitializedParameter),
            isinstance(library.nn.UninitializedBuffer(), library.nn.Buffer),
            *[isinstance(library.nn.Parameter, kind) for kind in kinds],
            *[isinstance(library.nn.Buffer, kind) for kind in kinds],
        ]

    _beside(program)
