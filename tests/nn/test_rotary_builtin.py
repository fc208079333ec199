"""The builtin that turns queries and keys by their positions, against complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow import _C, nn
from tests.nn.test_attention_layouts import SEPARATE, close, drawn, in_layout

BATCH, LENGTH, HEADS, SIZE = 2, 5, 3, 8
POSITIONS = np.random.default_rng(3).integers(0, 9, (BATCH, 2, LENGTH))


def turned(x: np.ndarray, positions: np.ndarray, mode: str, base: float) -> np.ndarray:
    """Features of the order BMHK as complex numbers, times a number of their position."""
    size = x.shape[-1]
    angles = positions[..., None, None] * base ** (-2 * np.arange(size // 2) / size)
    pairs = (x[..., : size // 2], x[..., size // 2 :])
    if mode == "interval":
        pairs = (x[..., ::2], x[..., 1::2])
    product = (pairs[0] + 1j * pairs[1]) * np.exp(1j * angles)
    parts = [product.real, product.imag]
    if mode == "plane":
        return np.concatenate(parts, -1)
    return np.stack(parts, -1).reshape(x.shape)


def expected(x: np.ndarray, positions: np.ndarray | None, size: int, **options: Any) -> np.ndarray:
    """All of it: `size` features are turned, in one or two parts."""
    if positions is None:
        positions = np.broadcast_to(np.arange(LENGTH), (BATCH, 1, LENGTH))
    parts = np.split(x[..., :size], positions.shape[1], -1)
    parts = [turned(part, positions[:, index], **options) for index, part in enumerate(parts)]
    return np.concatenate([*parts, x[..., size:]], -1)


def table(size: int, mode: str, base: float) -> dict[str, flow.Tensor]:
    """Cosines and sines that a caller has computed."""
    angles = np.arange(9)[:, None] * base ** (-2 * np.arange(size // 2) / size)
    angles = np.tile(angles, 2) if mode == "plane" else np.repeat(angles, 2, -1)
    return {"cos": flow.tensor(np.cos(angles)).float(), "sin": flow.tensor(np.sin(angles)).float()}


@pytest.mark.parametrize("layout", [*SEPARATE, "BM(H3K)", "MB(H3K)"])
@pytest.mark.parametrize("mode", ["plane", "interval"])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("size", [4, 8, None])
@pytest.mark.parametrize("with_table", [False, True])
@pytest.mark.one_in(6)
def test_rotary(layout: str, mode: str, count: int, size: int | None, with_table: bool) -> None:
    parts = [drawn(BATCH, LENGTH, HEADS, SIZE) for _ in range(3)]
    positions = POSITIONS[:, :count] if count else None
    options = {"mode": mode, "base": 10.0}
    known = table((size or SIZE) // (count or 1), **options) if with_table else {}
    for index in range(3) if "3" in layout else [0]:
        found = _C.fused_apply_rotary_emb(
            in_layout(parts, layout, index),
            **known,
            position_ids=None if positions is None else flow.tensor(positions),
            x_layout=layout,
            output_layout="BMHK" if "3" in layout else None,
            tensor_index=index,
            k_size=SIZE,
            rotary_size=size,
            **options,
        )
        right = expected(parts[index], positions, size or SIZE, **options)
        output = "BMHK" if "3" in layout else layout
        close(found, in_layout([right], output, 0).numpy())


def test_rotary_in_a_graph_and_its_gradient() -> None:
    def apply(x: flow.Tensor) -> flow.Tensor:
        return _C.fused_apply_rotary_emb(x, x_layout="BMHK", mode="interval")

    class Apply(nn.Graph):
        def build(self, x: flow.Tensor) -> flow.Tensor:
            return apply(x)

    x = flow.tensor(drawn(BATCH, LENGTH, HEADS, SIZE), requires_grad=True)
    result = apply(x)
    close(Apply()(x), result.numpy())
    result.backward(result)  # turning back
    assert x.grad is not None
    close(x.grad, x.numpy())


@pytest.mark.parametrize("mode", ["plane", "interval"])
def test_angles_of_double_precision(mode: str) -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 1, SIZE))
    positions = np.full((1, 1, 1), 100_003)
    found = _C.fused_apply_rotary_emb(
        flow.tensor(x), position_ids=flow.tensor(positions), x_layout="BMHK", mode=mode
    )
    right = expected(x, positions, SIZE, mode=mode, base=1e4)
    np.testing.assert_allclose(found.numpy(), right, rtol=1e-9, atol=1e-9)


X = flow.ones(BATCH, LENGTH, HEADS, SIZE)


@pytest.mark.parametrize(
    ("x", "options", "text"),
    [
        (X, {"mode": "middle"}, "`mode` must be one of plane, interval, got 'middle'"),
        (X, {"cos": X[0, :, 0]}, "must both be given"),
        (X, {"cos": X[0, 0], "sin": X[0, 0, :2]}, r"must have shape \[positions, 8\]"),
        (X, {"rotary_size": 5}, "a multiple of 2, got 5"),
        (X, {"rotary_size": 12}, "at most 8"),
        (X, {"position_ids": flow.ones(2, 5)}, r"must have shape \[2, 1, 5\]"),
        (X, {"output_layout": "BM(H3K)"}, "`output_layout` must be one of"),
        (X.flatten(2), {"x_layout": "BM(H2K)", "k_size": 2}, "must be part 1 to 2"),
    ],
)
def test_operands_that_do_not_fit(x: flow.Tensor, options: dict[str, Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        _C.fused_apply_rotary_emb(x, **{"x_layout": "BMHK", "output_layout": "BMHK", **options})
