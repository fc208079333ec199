"""Whole models with hooks, optimizers and nested tensors travel in files in both directions."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.utils.prune

from tests.checkpoint.both_libraries import travelled
from tests.in_place import in_place_of

OURS = in_place_of("torch")
WAYS = [(torch, OURS), (OURS, torch), (OURS, OURS)]
_VALUES = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*weight_norm.*:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*nested tensors.*:UserWarning"),
]


def _layer(library: Any) -> Any:
    layer = library.nn.Linear(3, 2)
    with library.no_grad():
        layer.weight.copy_(library.tensor(_VALUES))
        layer.bias.fill_(0.5)
    return layer


def _spectral(library: Any) -> Any:
    layer = library.nn.utils.spectral_norm(_layer(library), n_power_iterations=2)
    with library.no_grad():
        layer.weight_u.copy_(library.tensor([0.6, 0.8]))
    return layer


def _pruned_twice(library: Any) -> Any:
    layer, prune = _layer(library), library.nn.utils.prune
    prune.l1_unstructured(layer, "weight", 2)
    prune.ln_structured(layer, "weight", 1, n=2, dim=1)
    return layer


HOOKED: dict[str, Callable[[Any], Any]] = {
    "weight norm": lambda library: library.nn.utils.weight_norm(_layer(library)),
    "weight norm of all": lambda library: library.nn.utils.weight_norm(_layer(library), dim=None),
    "spectral norm": _spectral,
    "pruned": lambda library: library.nn.utils.prune.l1_unstructured(_layer(library), "weight", 2),
    "pruned twice": _pruned_twice,
}


@pytest.mark.parametrize("name", HOOKED)
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_models_with_hooks_travel(writer: Any, reader: Any, name: str) -> None:
    expected: Any = None
    for library, other in ((torch, torch), (writer, reader)):
        layer = travelled(HOOKED[name](library), library, other)
        outputs = []
        for _ in range(2):
            y = layer(other.tensor([[1.0, 2.0, 3.0]]))
            y.square().sum().backward()
            with other.no_grad():
                for parameter in layer.parameters():
                    parameter -= parameter.grad * 0.1
            outputs.append(y.tolist())
        state = {key: value.tolist() for key, value in layer.state_dict().items()}
        if expected is None:
            expected = outputs, state
    assert state.keys() == expected[1].keys()
    pairs = zip(state.values(), expected[1].values(), strict=True)
    for value, other_value in ((outputs, expected[0]), *pairs):
        torch.testing.assert_close(torch.tensor(value), torch.tensor(other_value))


@pytest.mark.parametrize("with_v", [True, False])
def test_spectral_norm_reads_state_dicts_of_pytorchs_first_versions(with_v: bool) -> None:
    values = []
    for library in (torch, OURS):
        layer = _spectral(library)
        layer(library.ones(1, 3))
        state = dict(layer.state_dict())
        if not with_v:
            del state["weight_v"]
            state["weight"] = layer.weight.detach().clone()
        layer = library.nn.utils.spectral_norm(library.nn.Linear(3, 2))
        layer.load_state_dict(state)
        values.append(layer.eval()(library.ones(1, 3)).tolist())
    torch.testing.assert_close(torch.tensor(values[0]), torch.tensor(values[1]))


def test_removed_spectral_norm_leaves_no_hooks() -> None:
    layer = OURS.nn.utils.remove_spectral_norm(_spectral(OURS))
    assert not layer._state_dict_hooks
    assert not layer._load_state_dict_pre_hooks


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Adamax", {}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("Adadelta", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Rprop", {}),
    ("ASGD", {"t0": 1}),
    ("Adafactor", {}),
]


@pytest.mark.parametrize("case", OPTIMIZERS, ids=lambda case: "-".join([case[0], *case[1]]))
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_optimizers_travel_and_go_on(
    writer: Any, reader: Any, case: tuple[str, dict[str, Any]]
) -> None:
    values = []
    for library, other in ((torch, torch), (writer, reader)):
        parameter = library.nn.Parameter(library.tensor(_VALUES))
        optimizer = getattr(library.optim, case[0])([parameter], lr=0.1, **case[1])
        for step in range(4):
            if step == 2:
                both = travelled((optimizer, parameter), library, other)
                optimizer, parameter = both
                assert optimizer.param_groups[0]["params"][0] is parameter
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()
        values.append(parameter.tolist())
    torch.testing.assert_close(torch.tensor(values[1]), torch.tensor(values[0]))


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize("layout", ["strided", "jagged"])
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_nested_tensors_travel(writer: Any, reader: Any, layout: str, is_trusted: bool) -> None:
    parts = [writer.ones(2, 3), writer.arange(12.0).reshape(4, 3)]
    kind = getattr(writer, layout)
    nested = writer.nested.nested_tensor(parts, layout=kind, requires_grad=True)
    file = io.BytesIO()
    writer.save({"nested": nested}, file)
    file.seek(0)
    read = reader.load(file, weights_only=not is_trusted)["nested"]
    assert [part.tolist() for part in read.unbind()] == [part.tolist() for part in parts]
    assert (read.layout, read.requires_grad) == (getattr(reader, layout), True)


def test_views_of_nested_tensors_travel() -> None:
    nested = torch.nested.nested_tensor([torch.arange(6.0).reshape(2, 3), torch.ones(1, 3)])
    read = travelled(nested.transpose(1, 2), torch, OURS)
    assert read.unbind()[0].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


LAZY: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...]]] = {
    "linear": ("LazyLinear", (2,), {"bias": False}, (4, 3)),
    "convolution": (
        "LazyConv2d",
        (4, 3),
        {"groups": 2, "padding": "same", "padding_mode": "reflect"},
        (1, 6, 5, 5),
    ),
    "transposed convolution": (
        "LazyConvTranspose1d",
        (2, 3),
        {"stride": 2, "output_padding": 1},
        (1, 3, 5),
    ),
    "batch norm": ("LazyBatchNorm1d", (), {"eps": 0.5, "affine": False}, (4, 3)),
    "instance norm": (
        "LazyInstanceNorm2d",
        (),
        {"momentum": 0.5, "affine": True, "track_running_stats": True},
        (2, 3, 4, 4),
    ),
}


@pytest.mark.parametrize("is_loaded", [True, False])
@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize(("writer", "reader"), WAYS)
@pytest.mark.filterwarnings("ignore:Lazy modules are:UserWarning")
def test_lazy_layers_travel(writer: Any, reader: Any, name: str, is_loaded: bool) -> None:
    if reader is torch and name == "instance norm" and is_loaded:
        pytest.skip("PyTorch's layer takes no number of features from a state dict")
    kind, arguments, options, shape = LAZY[name]
    torch.manual_seed(0)
    inputs = torch.randn(shape)
    example = getattr(torch.nn, kind.removeprefix("Lazy"))(shape[1], *arguments, **options)
    state = {key: value.numpy() for key, value in example.state_dict().items()}
    layer = travelled(getattr(writer.nn, kind)(*arguments, **options), writer, reader)
    assert type(layer) is getattr(reader.nn, kind)
    assert layer.has_uninitialized_params() or name == "batch norm"
    if not is_loaded:
        layer(reader.tensor(inputs.numpy()))
    values = {key: reader.tensor(value) for key, value in state.items()}
    if name == "batch norm" and not is_loaded:
        assert layer.num_batches_tracked.item() == 1
    layer.load_state_dict(values)
    outputs = layer(reader.tensor(inputs.numpy()))
    assert type(layer) is getattr(reader.nn, kind.removeprefix("Lazy"))
    assert not layer._forward_pre_hooks
    assert not layer._load_state_dict_pre_hooks
    torch.testing.assert_close(torch.tensor(outputs.tolist()), example(inputs))
