"""Attention with its projections in one call gives what it gives on PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")
BATCH, LENGTH, WIDTH, HEADS = 2, 3, 4, 2
LENGTHS = (2, 3)
_HIDDEN = np.array([[False, False, True], [False, True, True]])
_LATER = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
MASKS: dict[str, tuple[Any, int | None]] = {
    "none": (None, None),
    "keys": (_HIDDEN, 1),
    "numbers for keys": (_HIDDEN.astype(np.float32), 1),
    "places": (_LATER, 0),
    "weights": (np.broadcast_to(_LATER, (BATCH, HEADS, LENGTH, LENGTH)).copy(), 2),
    "everything": (np.ones((BATCH, LENGTH), bool), 1),
}


def _random(library: Any, *shape: int) -> Any:
    return library.tensor(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def _parameters(library: Any) -> tuple[Any, ...]:
    shapes = (3 * WIDTH, WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,)
    return WIDTH, HEADS, *(_random(library, *shape) for shape in shapes)


def _nested(library: Any, width: int) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")
        return library.nested.nested_tensor([_random(library, n, width) for n in LENGTHS])


def _numbers(result: Any) -> list[Any]:
    whole = [x.to_padded_tensor(0.0) if x is not None and x.is_nested else x for x in result]
    return [None if x is None else x.detach().numpy() for x in whole]


def _assert_same(ours: Any, theirs: Any) -> None:
    for one, other in zip(_numbers(ours), _numbers(theirs), strict=True):
        if other is None:
            assert one is None
        else:
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def _attention(library: Any, operands: Any, **options: Any) -> Any:
    with library.no_grad():
        return library._native_multi_head_attention(*operands, *_parameters(library), **options)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("mask", MASKS)
def test_attention(mask: str, need_weights: bool, average: bool) -> None:
    array, mask_type = MASKS[mask]

    def program(library: Any) -> Any:
        operands = [_random(library, BATCH, LENGTH, WIDTH) + n for n in range(3)]
        return _attention(
            library,
            operands,
            mask=None if array is None else library.tensor(array),
            mask_type=mask_type,
            need_weights=need_weights,
            average_attn_weights=average,
        )

    _assert_same(program(OURS), program(torch))


@pytest.mark.parametrize("average", [True, False])
def test_attention_of_nested_tensors(average: bool) -> None:
    def program(library: Any) -> Any:
        x = _nested(library, WIDTH)
        return _attention(library, (x, x, x), average_attn_weights=average)

    assert program(OURS)[0].is_nested
    _assert_same(program(OURS), program(torch))


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((2, 3, 4), (1, 3, 4), (2, 3, 4)), {}),
        (((3, 4), (3, 4), (3, 4)), {}),
        (((2, 3, 4),) * 3, {"mask": _LATER}),
        (((2, 3, 4),) * 3, {"mask": _LATER, "mask_type": 1}),
        (((2, 3, 4),) * 3, {"mask": _HIDDEN, "mask_type": 0}),
    ],
)
def test_operands_that_do_not_fit_are_refused(shapes: Any, options: dict[str, Any]) -> None:
    for library in (OURS, torch):
        operands = [_random(library, *shape) for shape in shapes]
        named = {k: library.tensor(v) if k == "mask" else v for k, v in options.items()}
        with pytest.raises(RuntimeError):
            _attention(library, operands, **named)


@pytest.mark.parametrize("is_nested", [True, False])
def test_joint_projections_are_divided_among_heads(is_nested: bool) -> None:
    def program(library: Any) -> Any:
        width = 3 * WIDTH
        x = _nested(library, width) if is_nested else _random(library, BATCH, LENGTH, width)
        with library.no_grad():
            return library._transform_bias_rescale_qkv(x, _random(library, width), HEADS)

    _assert_same(program(OURS), program(torch))


def test_gradients_are_those_of_the_layer() -> None:
    layer = OURS.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    x = _random(OURS, BATCH, LENGTH, WIDTH)
    weights = (layer.in_proj_weight, layer.in_proj_bias)
    projection = (layer.out_proj.weight, layer.out_proj.bias)
    result, _ = OURS._native_multi_head_attention(x, x, x, WIDTH, HEADS, *weights, *projection)
    expected, _ = layer(x, x, x)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    gradients = (
        OURS.autograd.grad(y.square().sum(), layer.parameters()) for y in (result, expected)
    )
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
