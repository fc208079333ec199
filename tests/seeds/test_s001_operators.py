"""Features named by the v0.6.0 release notes: operators, each against PyTorch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow.nn.functional import layer_norm
from tests.oracle import flat_tensors

NUMBERS = np.random.default_rng(0)
ROW = NUMBERS.standard_normal((2, 4, 5)).astype(np.float32)
IMAGE = NUMBERS.standard_normal((1, 2, 6, 6)).astype(np.float32)
COLUMNS = NUMBERS.standard_normal((1, 9, 9)).astype(np.float32)
VOLUME = NUMBERS.standard_normal((1, 2, 4, 4, 4)).astype(np.float32)


def convolve_transposed(lib: ModuleType) -> Any:
    """Functions and modules for each number of dimensions; no two weights are equal."""
    numbers, results = np.random.default_rng(1), []
    for dims in (1, 2, 3):
        arrays = [
            numbers.standard_normal(shape).astype(np.float32)
            for shape in ((1, 4, *(5,) * dims), (4, 3, *(3,) * dims), (6,))
        ]
        image, weight, bias = map(lib.tensor, arrays)
        function = getattr(lib.nn.functional, f"conv_transpose{dims}d")
        module = getattr(lib.nn, f"ConvTranspose{dims}d")(4, 6, 3, stride=2, groups=2)
        module.load_state_dict({"weight": weight, "bias": bias})
        results += [function(image, weight, groups=2), module(image)]
    return results


def hardsigmoid_in_place(lib: ModuleType) -> Any:
    x = lib.tensor(ROW)
    result = lib.nn.functional.hardsigmoid(x, inplace=True)
    assert result is x
    y = lib.tensor(ROW)
    lib.nn.Hardsigmoid(inplace=True)(y)
    return x, y


def sine_in_place(lib: ModuleType) -> Any:
    """The values that were written, not those that come back."""
    x, y = lib.tensor(ROW), lib.tensor(ROW)
    assert lib.sin_(x) is x
    assert y.sin_() is y
    return x, y


def fill_masked(lib: ModuleType) -> Any:
    x, y, mask = lib.tensor(ROW), lib.tensor(ROW), lib.tensor(ROW > 0)
    x.masked_fill_(mask, 7.0)
    return x, y, y.masked_fill(mask, 7.0), lib.masked_fill(y, mask[0], -1.0)


def multiply_in_place(lib: ModuleType) -> Any:
    x = y = lib.tensor(ROW)
    x *= 3
    assert x is y
    assert x.mul_(lib.tensor(ROW)) is y
    return x


def layer_norm_with_gradients(lib: ModuleType) -> Any:
    x = lib.tensor(ROW).requires_grad_()
    layer = lib.nn.LayerNorm(5)
    result = layer(x)
    (result**3).sum().backward()
    return result, x.grad, layer.weight.grad, layer.bias.grad


def promote(lib: ModuleType) -> Any:
    kinds = ("uint8", "int8", "int32", "int64", "float16", "float32", "float64")
    ones = [lib.ones(2, dtype=getattr(lib, kind)) for kind in kinds]
    sums = [a + b for a in ones for b in ones]
    return [*sums, *[one + 1.5 for one in ones]]


def pool(lib: ModuleType, dims: int) -> Any:
    x = lib.tensor((ROW, IMAGE, VOLUME)[dims - 1])
    nn, f = lib.nn, lib.nn.functional
    layers = [getattr(nn, f"{kind}Pool{dims}d")(2, 2) for kind in ("Max", "Avg")]
    functions = [getattr(f, f"{kind}_pool{dims}d") for kind in ("max", "avg")]
    return [layer(x) for layer in layers], [function(x, 2, 1) for function in functions]


def nms(lib: ModuleType) -> Any:
    if lib is torch:  # torchvision has it
        return [torch.tensor([0, 2])]
    boxes = lib.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]])
    return [lib.nms(boxes, lib.tensor([0.9, 0.8, 0.7]), 0.5)]


def roi_align(lib: ModuleType) -> Any:
    """On an image that rises by 1 per column, a bin's mean is the column of its centre."""
    if lib is torch:  # torchvision has it
        return [(torch.arange(4.0) + 1.0).expand(1, 1, 4, 4)]
    image = lib.arange(10.0).expand(1, 1, 10, 10)
    return [lib.roi_align(image, lib.tensor([[0.0, 1, 1, 5, 5]]), 1.0, 4, 4, 2, True)]


# The id of a feature, and what both libraries compute for it.
FEATURES = {
    "s001_10": convolve_transposed,
    "s001_11": multiply_in_place,
    "s001_12": hardsigmoid_in_place,
    "s001_13": sine_in_place,
    "s001_14": lambda lib: lib.linalg.vector_norm(lib.tensor(ROW), ord=2.0),
    "s001_15": layer_norm_with_gradients,
    "s001_16": promote,
    "s001_37": lambda lib: (lib.cumsum(lib.tensor(ROW), 1), lib.tensor(ROW).cumsum(0)),
    "s001_38": lambda lib: lib.meshgrid(lib.arange(3), lib.arange(4), indexing="ij"),
    "s001_39": lambda lib: lib.linspace(-1, 2, 7),
    "s001_40": lambda lib: (lib.diagonal(lib.tensor(ROW), 1, 0, 2), lib.tensor(ROW).diagonal()),
    "s001_41": lambda lib: lib.movedim(lib.tensor(ROW), 0, 2),
    "s001_42": roi_align,
    "s001_43": nms,
    "s001_44": lambda lib: (lib.arccos(lib.tensor(ROW / 4)), lib.tensor(ROW / 4).arccos()),
    "s001_45": lambda lib: (lib.roll(lib.tensor(ROW), 2, 1), lib.tensor(ROW).roll(1)),
    "s001_46": fill_masked,
    "s001_47": lambda lib: (lib.floor_divide(lib.tensor(ROW), 0.3), lib.tensor([7, -7]) // 2),
    "s001_48": lambda lib: (lib.nn.GLU(1)(lib.tensor(ROW)), lib.nn.functional.glu(lib.ones(2, 2))),
    "s001_49": lambda lib: pool(lib, 1),
    "s001_50": lambda lib: pool(lib, 2),
    "s001_51": lambda lib: pool(lib, 3),
    "s001_52": lambda lib: (lib.nn.Unfold(2)(lib.tensor(IMAGE)), lib.tensor(ROW).unfold(2, 3, 1)),
    "s001_53": lambda lib: (
        lib.nn.Fold((4, 4), 2)(lib.tensor(COLUMNS[:, :8])),
        lib.nn.functional.fold(lib.tensor(COLUMNS), (3, 3), 3, padding=1),
    ),
    "s001_54": lambda lib: lib.tensor(ROW[:1]).expand(3, -1, -1),
    "s001_55": lambda lib: lib.tensor(ROW).repeat(2, 1, 3),
    "s001_62": lambda lib: lib.from_numpy(ROW),
    "s001_63": lambda lib: lib.tensor(lib.numel(lib.tensor(ROW))),
    "s001_64": lambda lib: lib.tensor(ROW[:1]).expand_as(lib.tensor(ROW)),
}


@pytest.mark.parametrize("compute", FEATURES.values(), ids=FEATURES.keys())
def test_operator_gives_what_pytorch_gives(compute):
    mine, theirs = flat_tensors(compute(flow)), flat_tensors(compute(torch))
    assert len(mine) == len(theirs)
    for result, reference in zip(mine, theirs, strict=True):
        assert str(result.dtype).partition(".")[2] == str(reference.dtype).partition(".")[2]
        expected = reference.detach().numpy()
        np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


def test_s001_09_fused_dropout():
    x, bias = flow.randn(64, 32), flow.randn(32)
    kept = flow._C.fused_bias_add_dropout(x, bias, p=0.0, axis=1)
    np.testing.assert_allclose(kept.numpy(), (x + bias).numpy(), rtol=1e-6)
    result = flow._C.fused_bias_add_dropout(x, bias, p=0.5, axis=1).numpy()
    assert 0.4 < (result == 0).mean() < 0.6
    doubled = 2 * (x + bias).numpy()
    np.testing.assert_allclose(result[result != 0], doubled[result != 0], rtol=1e-6)


def test_s001_09_fused_operators():
    """Each is what PyTorch composes; without dropout, and with it half is 0 and half doubled."""
    x = torch.randn(8, 16, 16)
    mask, bias, scale = torch.rand(16, 16) < 0.6, torch.randn(16), 0.3
    mask[:, 0] = True  # none is masked away altogether
    fill = {"fill_value": -10000.0, "scale": scale}
    masked = torch.softmax((x * scale).masked_fill(~mask, -10000.0), -1)
    below = torch.softmax((x * scale).masked_fill(~torch.ones(16, 16).tril().bool(), -10000.0), -1)
    tril = {"diagonal": 0, "tril_scale_value": scale, "tril_fill_value": -10000.0}
    fused, given = flow._C, flow.tensor(x.numpy())
    given_mask, given_bias = flow.tensor(mask.numpy()), flow.tensor(bias.numpy())
    gelu = fused.fused_bias_add_gelu(given, given_bias, axis=2)
    np.testing.assert_allclose(
        gelu.numpy(), torch.nn.functional.gelu(x + bias), rtol=1e-4, atol=1e-6
    )
    plain = fused.fused_scale_mask_softmax(given, given_mask, **fill)
    np.testing.assert_allclose(plain.numpy(), masked, rtol=1e-4, atol=1e-6)
    for expected, (dropped, whole) in (
        (masked, fused.fused_scale_mask_softmax_dropout(given, given_mask, p=0.5, **fill)),
        (below, fused.fused_scale_tril_softmax_mask_scale(given, p=0.5, **tril)),
    ):
        np.testing.assert_allclose(whole.numpy(), expected, rtol=1e-4, atol=1e-6)
        kept = dropped.numpy() != 0
        assert 0.4 < kept[expected > 0].mean() < 0.6
        np.testing.assert_allclose(dropped.numpy()[kept], 2 * expected[kept], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "count"),
    [
        pytest.param(lambda x, y: x + y, 0, id="s001_17 a sum"),
        pytest.param(lambda x, y: x - y, 0, id="s001_17 a difference"),
        pytest.param(lambda x, y: x * y, 1, id="s001_17 a product"),
        pytest.param(lambda x, y: x[1:3], 0, id="s001_18 a slice"),
        pytest.param(lambda x, y: layer_norm(x, (4,)), 1, id="s001_19 layer norm"),
    ],
)
def test_backward_keeps_as_many_large_tensors_as_it_needs(function, count):
    """A backward pass holds on to `count` tensors as large as the input."""
    kept = []
    x = flow.randn(8, 4, requires_grad=True)
    y = flow.randn(8, 1, requires_grad=True)
    with flow.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        function(x, y)
    assert sum(tensor.numel() >= x.numel() for tensor in kept) == count
