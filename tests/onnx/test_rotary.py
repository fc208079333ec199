"""Rotary position embeddings, exported as the operator that later opsets have."""

from __future__ import annotations

import pytest

import oneflow as flow
from oneflow import nn
from tests.onnx.runtime import assert_exported, operators_of


def chunked(x):
    """``concat(-second half, first half)``, cut by `chunk`."""
    first, second = x.chunk(2, -1)
    return flow.cat((-second, first), -1)


def sliced(x):
    """``concat(-second half, first half)``, cut by indices."""
    half = x.shape[-1] // 2
    return flow.cat((-x[..., half:], x[..., :half]), -1)


def swapped(x):
    """``concat(-first half, second half)``, which is no rotation."""
    first, second = x.chunk(2, -1)
    return flow.cat((-first, second), -1)


class Rotary(nn.Module):
    """Rotates pairs of the last dimension by angles that grow with the position."""

    def __init__(self, turn, doubled=True, sine_first=False):
        super().__init__()
        self.turn, self.doubled, self.sine_first = turn, doubled, sine_first
        self.register_buffer("frequencies", 1 / 100 ** (flow.arange(0, 8, 2) / 8))

    def forward(self, x):
        positions = flow.arange(x.shape[2], dtype=flow.float32)
        angles = flow.outer(positions, self.frequencies)
        both = flow.cat((angles, angles if self.doubled else angles * 2), -1)
        cosine, sine = both.cos()[None, None], both.sin()
        if self.sine_first:
            return sine * self.turn(x) + cosine * x
        return x * cosine + self.turn(x) * sine


@pytest.mark.parametrize("turn", [chunked, sliced])
@pytest.mark.parametrize("sine_first", [False, True])
def test_it_is_one_operator(turn, sine_first):
    model, x = Rotary(turn, sine_first=sine_first), flow.randn(2, 3, 5, 8)
    proto = assert_exported(model, x, opset=23)
    assert operators_of(proto).count("RotaryEmbedding") == 1
    assert "Neg" not in operators_of(proto)
    assert "RotaryEmbedding" not in operators_of(assert_exported(model, x, opset=22))


def test_batch_and_length_are_symbolic():
    options = {"dynamic": {0: {0: "batch", 2: "length"}}, "opset": 23}
    others = [(flow.randn(1, 3, 7, 8),)]
    proto = assert_exported(Rotary(chunked), flow.randn(2, 3, 5, 8), others=others, **options)
    assert "RotaryEmbedding" in operators_of(proto)


@pytest.mark.parametrize("model", [Rotary(chunked, doubled=False), Rotary(swapped)])
def test_what_is_similar_stays_arithmetic(model):
    proto = assert_exported(model, flow.randn(2, 3, 5, 8), opset=23)
    assert "RotaryEmbedding" not in operators_of(proto)
