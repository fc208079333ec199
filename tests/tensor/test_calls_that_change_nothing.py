"""Calls that have nothing to change: the result shares memory with the operand as in PyTorch."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow


def pads(mode, *amounts):
    """A case: padding, with as many dimensions before as the mode needs."""
    lead = (None,) * (len(amounts) // 2)
    return lambda lib, x: lib.nn.functional.pad(x[lead], amounts, mode=mode)


def resized(mode, **options):
    """A case: interpolation to the size that there is."""
    return lambda lib, x: lib.nn.functional.interpolate(x[None, None], mode=mode, **options)


MODES = ["constant", "reflect", "replicate", "circular"]
CASES = {
    **{f"{mode} padding": pads(mode, 0, 0) for mode in MODES},
    **{f"{mode} padding of two": pads(mode, 0, 0, 0, 0) for mode in MODES},
    **{f"{mode} padding that crops": pads(mode, -1, 0) for mode in MODES},
    **{f"{mode} to a size": resized(mode, size=(3, 4)) for mode in ("nearest", "bilinear", "area")},
    "nearest by 1": resized("nearest", scale_factor=1.0),
    "ReflectionPad1d": lambda lib, x: lib.nn.ReflectionPad1d(0)(x),
    "ZeroPad2d": lambda lib, x: lib.nn.ZeroPad2d(0)(x[None]),
    "repeat_interleave": lambda lib, x: x.repeat_interleave(1, 0),
    "repeat_interleave of one row": lambda lib, x: x[:1].repeat_interleave(2, 0),
    "repeat": lambda lib, x: x.repeat(1, 1),
    "repeat of one row": lambda lib, x: x[:1].repeat(2, 1),
    "tile": lambda lib, x: lib.tile(x, (1, 1)),
    "roll": lambda lib, x: x.roll(0, 0),
    "flip": lambda lib, x: x.flip(()),
    "rot90": lambda lib, x: x.rot90(4),
    "cat": lambda lib, x: lib.cat([x]),
    "cat with nothing": lambda lib, x: lib.cat([x[:0], x]),
    "sum of one column": lambda lib, x: x[:, :1].sum(1),
    "largest of one column": lambda lib, x: x[:, :1].amax(1),
    "sort of one column": lambda lib, x: x[:, :1].sort(1)[0],
    "sum of a number": lambda lib, x: x[0, 0].sum(),
    "pixel_shuffle": lambda lib, x: lib.nn.functional.pixel_shuffle(x[None], 1),
    "channel_shuffle": lambda lib, x: lib.nn.functional.channel_shuffle(x[None, None], 1),
    "avg_pool1d": lambda lib, x: lib.nn.functional.avg_pool1d(x, 1),
    "adaptive_avg_pool2d": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x[None], (3, 4)),
    "clamp": lambda lib, x: x.clamp(-99, 99),
    "product with 1": lambda lib, x: x * 1,
    "tril": lambda lib, x: x.tril(9),
    "dropout of nothing": lambda lib, x: lib.nn.functional.dropout(x, 0.0),
    "dropout in evaluation": lambda lib, x: lib.nn.functional.dropout(x, training=False),
    "Dropout in evaluation": lambda lib, x: lib.nn.Dropout().eval()(x),
    "diff of no order": lambda lib, x: x.diff(n=0),
    "narrow_copy": lambda lib, x: x.narrow_copy(0, 0, 3),
    "matrix_power": lambda lib, x: lib.linalg.matrix_power(x[:, :3], 1),
    "nan_to_num": lambda lib, x: x.nan_to_num(),
    "scatter of nothing": lambda lib, x: x.scatter(0, lib.zeros(0, 4, dtype=lib.int64), 0.0),
    "index_add of nothing": lambda lib, x: x.index_add(0, lib.zeros(0, dtype=lib.int64), x[:0]),
    "to": lambda lib, x: x.to(lib.float32),
    "contiguous": lambda lib, x: x.contiguous(),
    "reshape": lambda lib, x: x.reshape(4, 3),
    "sum_to_size": lambda lib, x: x.sum_to_size(3, 4),
    "pad_sequence": lambda lib, x: lib.nn.utils.rnn.pad_sequence([x]),
}


@pytest.mark.parametrize("name", CASES)
def test_results_share_memory_as_in_pytorch(name):
    found = []
    for lib in (flow, torch):
        x = lib.arange(12.0).reshape(3, 4).clone()
        result = CASES[name](lib, x)
        before = result.tolist()
        result.reshape(-1)[:1].fill_(99)
        found.append((before, result.tolist(), x.tolist()))
    assert found[0] == found[1]
