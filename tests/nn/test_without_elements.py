"""Layers whose input or result has no elements, and batches of one value, beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by
from tests.oracle import eager_mode


def _normalized(layer: str, *shape: int) -> Callable[[Any], Any]:
    def call(library: Any) -> Any:
        module = getattr(library.nn, layer)(3)
        output = module(library.zeros(*shape, requires_grad=True))
        output.sum().backward()
        statistics = module.running_mean.tolist(), module.running_var.tolist()
        gradients = module.weight.grad.tolist(), module.bias.grad.tolist()
        return tuple(output.shape), statistics, gradients, int(module.num_batches_tracked)

    return call


EMPTY_BATCHES = {
    "BatchNorm1d": _normalized("BatchNorm1d", 0, 3),
    "BatchNorm1d of rows": _normalized("BatchNorm1d", 0, 3, 4),
    "BatchNorm2d": _normalized("BatchNorm2d", 0, 3, 2, 2),
    "BatchNorm2d of empty images": _normalized("BatchNorm2d", 2, 3, 0, 2),
}
#: Layers of images and their like, and the number of dimensions behind the channels.
LAYERS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    **{f"AvgPool{n}d": (n, lambda nn, n=n: getattr(nn, f"AvgPool{n}d")(2)) for n in (1, 2, 3)},
    **{f"MaxPool{n}d": (n, lambda nn, n=n: getattr(nn, f"MaxPool{n}d")(2)) for n in (1, 2, 3)},
    **{
        f"{kind}{n}d": (n, lambda nn, kind=kind, n=n: getattr(nn, f"{kind}{n}d")(2))
        for kind in ("AdaptiveMaxPool", "ReflectionPad", "ReplicationPad")
        for n in (1, 2, 3)
    },
    "AdaptiveAvgPool2d": (2, lambda nn: nn.AdaptiveAvgPool2d(2)),
    "FractionalMaxPool2d": (2, lambda nn: nn.FractionalMaxPool2d(2, output_size=3)),
    "FractionalMaxPool3d": (3, lambda nn: nn.FractionalMaxPool3d(2, output_size=3)),
    "LPPool1d": (1, lambda nn: nn.LPPool1d(2, 2)),
    "LPPool2d": (2, lambda nn: nn.LPPool2d(2, 2)),
    "CircularPad1d": (1, lambda nn: nn.CircularPad1d(1)),
    "CircularPad2d": (2, lambda nn: nn.CircularPad2d(1)),
    "ConstantPad2d": (2, lambda nn: nn.ConstantPad2d(1, 0.0)),
    "Unfold": (2, lambda nn: nn.Unfold(2)),
    "Upsample nearest": (2, lambda nn: nn.Upsample(scale_factor=2)),
    "Upsample bilinear": (2, lambda nn: nn.Upsample(scale_factor=2, mode="bilinear")),
    "Fold": (1, lambda nn: nn.Fold(5, 2)),
}
EMPTY_SHAPES = {
    "batch": lambda size: (0, 4, *size),
    "channels": lambda size: (2, 0, *size),
    "channels without a batch": lambda size: (0, *size),
    "space": lambda size: (2, 4, *size[:-1], 0),
}
REFUSED = {
    "windows of one number": lambda library: library.nn.functional.fractional_max_pool2d(
        library.zeros(2, 7, 7), (2,), output_size=3
    ),
    "sizes of one number": lambda library: library.nn.functional.fractional_max_pool3d(
        library.zeros(2, 7, 7, 7), 2, output_size=(3,)
    ),
    "one value per channel": lambda library: library.nn.BatchNorm1d(3)(library.zeros(1, 3)),
    "one value per group": lambda library: library.nn.GroupNorm(3, 3)(library.zeros(1, 3)),
    "labels without classes": lambda library: library.nn.functional.cross_entropy(
        library.zeros(2, 0), library.zeros(2, dtype=library.int64)
    ),
    "likelihoods without classes": lambda library: library.nn.functional.nll_loss(
        library.zeros(2, 0), library.zeros(2, dtype=library.int64)
    ),
}


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize("name", EMPTY_BATCHES)
def test_empty_batches_leave_statistics_alone(name: str, mode: str) -> None:
    with eager_mode(mode):
        assert EMPTY_BATCHES[name](flow) == EMPTY_BATCHES[name](torch)


def _layer_result(library: Any, layer: str, empty: str) -> Any:
    count, make = LAYERS[layer]
    x = library.ones(EMPTY_SHAPES[empty]((16,) * count if layer == "Fold" else (5,) * count))
    try:
        return tuple(make(library.nn)(x).shape)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("empty", EMPTY_SHAPES)
@pytest.mark.parametrize("layer", LAYERS)
def test_only_the_batch_may_be_empty_where_pytorch_says_so(layer: str, empty: str) -> None:
    assert _layer_result(flow, layer, empty) == _layer_result(torch, layer, empty)


@pytest.mark.parametrize("mode", ["cold", "compiled"])
def test_random_windows_may_be_none(mode: str) -> None:
    """PyTorch has no backward pass of these."""
    x = flow.ones(2, 3, 8, 8, requires_grad=True)
    with eager_mode(mode):
        output = flow.nn.functional.fractional_max_pool2d(x, 2, output_size=(0, 1))
        output.sum().backward()
        assert output.shape == (2, 3, 0, 1)
        assert x.grad is not None
        assert not x.grad.any()


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused(name: str) -> None:
    expected = raised_by(lambda: REFUSED[name](torch))
    assert raised_by(lambda: REFUSED[name](flow)) is expected


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize(("function", "size"), [("avg_pool1d", 0), ("avg_pool2d", (0, 2))])
def test_averages_over_nothing_have_no_gradient(function: str, size: Any, mode: str) -> None:
    """PyTorch has no backward pass of these."""
    x = flow.ones(2, 3, 4, *[4] * (function == "avg_pool2d"), requires_grad=True)
    with eager_mode(mode):
        output = getattr(flow.nn.functional, f"adaptive_{function}")(x, size)
        output.sum().backward()
        assert output.numel() == 0
        assert x.grad is not None
        assert not x.grad.any()


REFUSED: dict[str, Callable[[Any], Any]] = {
    "ctc_loss of no samples": lambda lib: lib.nn.functional.ctc_loss(
        lib.zeros(3, 0, 4), *(lib.zeros(n, dtype=lib.int64) for n in ((0, 2), 0, 0))
    ),
    "packing no steps": lambda lib: lib.nn.utils.rnn.pack_padded_sequence(lib.zeros(0, 0), []),
    "packing no samples": lambda lib: lib.nn.utils.rnn.pack_padded_sequence(
        lib.zeros(3, 0, 2), lib.zeros(0, dtype=lib.int64), enforce_sorted=False
    ),
    "padding what is no sequence": lambda lib: lib.nn.utils.rnn.pad_sequence(5),
    "padding no sequences": lambda lib: lib.nn.utils.rnn.pad_sequence([]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_result_is_refused(name: str) -> None:
    for library in (torch, flow):
        with pytest.raises(RuntimeError, match=r"empty|iterable"):
            REFUSED[name](library)


def _long(library: Any, *shape: int) -> Any:
    return library.zeros(*shape, dtype=library.int64)


#: Look-ups of no rows in tables that have none, or no columns.
LOOKUPS = {
    "embedding of no rows": lambda t: t.nn.functional.embedding(_long(t, 0, 4), t.zeros(0, 4)),
    "embedding of no places": lambda t: t.nn.functional.embedding(_long(t, 2, 0), t.zeros(0, 4)),
    "embedding without columns": lambda t: t.nn.functional.embedding(_long(t, 2, 3), t.zeros(3, 0)),
    "bag": lambda t: t.nn.functional.embedding_bag(_long(t, 0), t.zeros(3, 4), _long(t, 2)),
    "bag of no rows": lambda t: t.nn.functional.embedding_bag(
        _long(t, 0), t.zeros(0, 4), _long(t, 2), mode="sum"
    ),
    "multi margin": lambda t: t.nn.functional.multi_margin_loss(
        t.zeros(0, 3), _long(t, 0), weight=t.ones(3), reduction="none"
    ),
    "cross entropy": lambda t: t.nn.functional.cross_entropy(
        t.zeros(0, 3, 2), _long(t, 0, 2), weight=t.ones(3), reduction="none"
    ),
}


@pytest.mark.parametrize("mode", ["deferred", "compiled"])
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_shapes_of_lookups_without_elements(lookup: str, mode: str):
    with eager_mode(mode):
        ours = LOOKUPS[lookup](flow)
        assert tuple(ours.numpy().shape) == tuple(ours.shape)
    assert tuple(ours.shape) == tuple(LOOKUPS[lookup](torch).shape)


@pytest.mark.parametrize("shape", [(3,), (2, 0), (2, 3)])
def test_nothing_scattered_by_a_mask_that_is_nowhere_true(shape: tuple[int, ...]) -> None:
    def scattered(library: Any) -> Any:
        x = library.ones(*shape, requires_grad=True)
        source = library.zeros(0, requires_grad=True)
        y = x.masked_scatter(library.zeros(*shape, dtype=library.bool), source)
        y.sum().backward()
        return y.tolist(), x.grad.tolist(), source.grad.tolist()

    assert scattered(flow) == scattered(torch)
    with pytest.raises(RuntimeError, match="at least 1 elements"):
        flow.ones(1).masked_scatter(flow.tensor([True]), flow.zeros(0)).tolist()
