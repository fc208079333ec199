"""A law for layers: a weight that is no parameter, but computed, is what the layer calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.utils.prune

import oneflow as flow
from tests.nn.twins import assert_twins_agree, random_array, twin
from tests.sampling import Sample

# A layer of a library, its inputs' shapes, and the name of a weight.
LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[tuple[int, ...], ...], str]] = {
    "Linear": (lambda lib: lib.nn.Linear(4, 3), ((2, 4),), "weight"),
    "Bilinear": (lambda lib: lib.nn.Bilinear(4, 2, 3), ((2, 4), (2, 2)), "weight"),
    "Conv1d": (lambda lib: lib.nn.Conv1d(4, 3, 2), ((2, 4, 5),), "weight"),
    "Conv2d": (lambda lib: lib.nn.Conv2d(4, 3, 2), ((2, 4, 5, 5),), "weight"),
    "ConvTranspose2d": (lambda lib: lib.nn.ConvTranspose2d(4, 3, 2), ((2, 4, 5, 5),), "weight"),
    "LSTM": (lambda lib: lib.nn.LSTM(4, 3, 2, bidirectional=True), ((5, 2, 4),), "weight_hh_l0"),
    "LSTM that projects": (
        lambda lib: lib.nn.LSTM(4, 3, bias=False, proj_size=2),
        ((5, 2, 4),),
        "weight_hr_l0",
    ),
    "GRU": (lambda lib: lib.nn.GRU(4, 3), ((5, 2, 4),), "weight_ih_l0"),
    "RNN": (lambda lib: lib.nn.RNN(4, 3), ((5, 2, 4),), "weight_hh_l0"),
    "LSTMCell": (lambda lib: lib.nn.LSTMCell(4, 3), ((2, 4),), "weight_hh"),
    "GRUCell": (lambda lib: lib.nn.GRUCell(4, 3), ((2, 4),), "weight_ih"),
    "MultiheadAttention": (
        lambda lib: lib.nn.MultiheadAttention(4, 2),
        ((3, 2, 4),) * 3,
        "in_proj_weight",
    ),
    "BatchNorm1d": (lambda lib: lib.nn.BatchNorm1d(4), ((3, 4),), "weight"),
    "GroupNorm": (lambda lib: lib.nn.GroupNorm(2, 4), ((3, 4, 2),), "weight"),
    "LayerNorm": (lambda lib: lib.nn.LayerNorm((3, 4)), ((2, 3, 4),), "weight"),
    "PReLU": (lambda lib: lib.nn.PReLU(4), ((3, 4),), "weight"),
}


def _replace_by_attribute(lib: Any, layer: Any, name: str) -> None:
    """As programs do that drop elements of weights before every call."""
    raw = getattr(layer, name)
    del layer._parameters[name]
    layer.register_parameter(f"{name}_raw", raw)
    setattr(layer, name, raw * 2)


def _double(lib: Any) -> Any:
    contents = {"forward": lambda self, weight: weight * 2}
    return type("Double", (lib.nn.Module,), contents)()


WAYS: dict[str, Callable[[Any, Any, str], Any]] = {
    "pruned": lambda lib, layer, name: lib.nn.utils.prune.l1_unstructured(layer, name, 0.5),
    "normalised": lambda lib, layer, name: lib.nn.utils.weight_norm(layer, name, dim=None),
    "parametrized": lambda lib, layer, name: lib.nn.utils.parametrize.register_parametrization(
        layer, name, _double(lib)
    ),
    "an attribute": _replace_by_attribute,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_call_weights_that_are_computed(sample: Sample, layer, way):
    sample.take(f"{layer} {way}", one_in=4)
    make, shapes, name = LAYERS[layer]
    mine, theirs = twin(make)
    weight = random_array(*getattr(mine, name).shape)
    getattr(mine, name).data, getattr(theirs, name).data = flow.tensor(weight), torch.tensor(weight)
    for library, module in ((flow, mine), (torch, theirs)):
        WAYS[way](library, module, name)
    assert_twins_agree(mine, theirs, [random_array(*shape) for shape in shapes])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_flat_weights_are_those_of_every_layer(kind):
    mine, theirs = twin(lambda lib: getattr(lib.nn, kind)(4, 3, 2, bidirectional=True))
    assert [tuple(flat_weight.shape) for flat_weight in mine._flat_weights] == [
        tuple(flat_weight.shape) for flat_weight in theirs._flat_weights
    ]
