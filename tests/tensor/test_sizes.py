"""Shapes that no array can have, and nesting that no array can have: errors, at the call."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import oneflow as flow
import oneflow.nn.functional as F

HUGE = 2**62


def _wide(*shape: int, dtype: flow.dtype = flow.float32) -> flow.Tensor:
    return flow.ones([1] * len(shape), dtype=dtype).expand(*shape)


# Each makes an array whose bytes do not fit in int64: as its result, or on the way to it.
TOO_LARGE = {
    "empty": lambda: flow.empty(2**40, 2**40),
    "ones": lambda: flow.ones(2**32, 2**32),
    "zeros": lambda: flow.zeros(HUGE),
    "zeros 2**61": lambda: flow.zeros(2**61),
    "zeros 2**63": lambda: flow.zeros(2**63),
    "zeros 2**70": lambda: flow.zeros(2**70, dtype=flow.int8),
    "no elements": lambda: flow.zeros(2**40, 2**40, 0),
    "full": lambda: flow.full((HUGE,), 1.5),
    "full complex": lambda: flow.full((HUGE,), 1j),
    "global": lambda: flow.zeros(
        HUGE, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast
    ),
    "Tensor": lambda: flow.Tensor(HUGE),
    "new_zeros": lambda: flow.ones(2).new_zeros(HUGE),
    "eye": lambda: flow.eye(2**33),
    "arange": lambda: flow.arange(HUGE),
    "arange 10**19": lambda: flow.arange(10**19),
    "arange small steps": lambda: flow.arange(0, 1, 1e-30),
    "linspace": lambda: flow.linspace(0, 1, HUGE),
    "logspace": lambda: flow.logspace(0, 1, HUGE),
    "rand": lambda: flow.rand(HUGE),
    "randn": lambda: flow.randn(2**32, 2**32),
    "randint": lambda: flow.randint(0, 4, (HUGE,)),
    "randperm": lambda: flow.randperm(HUGE),
    "normal": lambda: flow.normal(0.0, 1.0, (HUGE,)),
    "multinomial": lambda: flow.multinomial(flow.ones(2), HUGE, replacement=True),
    "tril_indices": lambda: flow.tril_indices(2**40, 2**40),
    "repeat": lambda: flow.ones(2).repeat(HUGE),
    "tile": lambda: flow.tile(flow.ones(2), (HUGE,)),
    "repeat_interleave": lambda: flow.repeat_interleave(flow.ones(2), HUGE),
    "repeat_interleave counts": lambda: flow.repeat_interleave(
        flow.ones(2), flow.tensor([HUGE, 3])
    ),
    "expand": lambda: flow.ones(1, 1).expand(2**32, 2**32),
    "expand 2**63": lambda: flow.ones(1).expand(2**63),
    "one_hot": lambda: F.one_hot(flow.zeros(4, dtype=flow.int64), HUGE),
    "pad": lambda: F.pad(flow.ones(2), (HUGE, 0)),
    "pad reflect": lambda: F.pad(flow.ones(1, 1, 2), (HUGE, 0), mode="circular"),
    "broadcasting": lambda: _wide(2**20, 1, 1) + _wide(1, 2**20, 1) + _wide(1, 1, 2**24),
    "cast": lambda: _wide(2**61, dtype=flow.int8).double(),
    "cat": lambda: flow.cat([_wide(2**60)] * 4),
    "stack": lambda: flow.stack([_wide(2**60)] * 4),
    "meshgrid": lambda: flow.meshgrid(_wide(2**32), _wide(2**32)),
    "cartesian_prod": lambda: flow.cartesian_prod(_wide(2**33), _wide(2**33)),
    "combinations": lambda: flow.combinations(_wide(2**33)),
    "matmul": lambda: _wide(2**32, 1) @ _wide(1, 2**32),
    "einsum": lambda: flow.einsum("i,j,k->ijk", *[_wide(2**22)] * 3),
    "cdist": lambda: flow.cdist(_wide(2**31, 4), _wide(2**31, 4)),
    "diag": lambda: flow.diag(flow.ones(2), 2**40),
    "vander": lambda: flow.vander(flow.ones(3), HUGE),
    "bincount": lambda: flow.bincount(flow.tensor([HUGE])),
    "bincount minlength": lambda: flow.bincount(flow.tensor([1]), minlength=HUGE),
    "histc": lambda: flow.histc(flow.ones(3), HUGE),
    # Only the form that the processor runs makes a padded copy.
    "conv padding": lambda: F.conv2d(
        _wide(1, 1, 4, 4), _wide(1, 1, 2, 2), padding=2**40, stride=2**39
    ).numpy(),
    "conv dilation": lambda: F.conv1d(
        _wide(1, 1, 4), _wide(1, 1, 2), padding=2**61, dilation=2**61
    ),
    "conv_transpose": lambda: F.conv_transpose1d(_wide(1, 1, 4), _wide(1, 1, 2), stride=HUGE),
    "adaptive_avg_pool": lambda: F.adaptive_avg_pool1d(_wide(1, 1, 4), HUGE),
    "adaptive_max_pool": lambda: F.adaptive_max_pool2d(_wide(1, 1, 4, 4), HUGE),
    "interpolate": lambda: F.interpolate(_wide(1, 1, 2, 2), size=(HUGE, HUGE)),
    "unfold": lambda: F.unfold(_wide(1, 1, 4, 4), 2, padding=2**33),
    "affine_grid": lambda: F.affine_grid(_wide(1, 2, 3), (1, 1, 2**32, 2**32)),
    "Linear": lambda: flow.nn.Linear(2**32, 2**32),
    "Embedding": lambda: flow.nn.Embedding(2**40, 2**40),
    "LSTM": lambda: flow.nn.LSTM(2**32, 2**32),
}


def _try_all() -> None:
    """Write what each does, a line for each; for a process of its own, which may be ended."""
    for name, make in TOO_LARGE.items():
        try:
            outcome = f"WRONG {type(make())}"
        except RuntimeError:
            outcome = "raised"
        except Exception as error:
            outcome = f"WRONG {error!r}"
        sys.stdout.write(f"{name} {outcome}\n")
        sys.stdout.flush()


def test_too_large_shapes_raise_at_the_call() -> None:
    run = [sys.executable, "-c", f"from {__name__} import _try_all; _try_all()"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-1000:]
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.endswith("raised")] == []
    assert len(lines) == len(TOO_LARGE)


def test_the_error_names_operator_shape_and_dtype() -> None:
    with pytest.raises(RuntimeError, match=r"`zeros` .* \(4, 4611686018427387904\) .* float64"):
        flow.zeros(4, HUGE, dtype=flow.float64)
    with pytest.raises(RuntimeError, match=r"`broadcast_to` .* \(2, 4611686018427387904\)"):
        TOO_LARGE["repeat_interleave"]()
    assert flow.zeros(2).tolist() == [0.0, 0.0]


def test_what_only_does_not_fit_in_memory_is_an_ordinary_error() -> None:
    with pytest.raises(flow.OutOfMemoryError, match=r"`zeros`.*float32\[2305843009213693951\]"):
        flow.zeros(2**61 - 1).numpy()
    assert flow.ones(1, 1).expand(2**30, 2**29).shape == (2**30, 2**29)


def _within_itself(*before: object) -> list:
    nested = list(before)
    nested.append(nested)
    return nested


@pytest.mark.parametrize(
    "data",
    [
        _within_itself(),
        _within_itself(1.0),
        _within_itself(flow.tensor(1.0)),
        _within_itself(np.float32(1.0)),
        [[1.0], _within_itself()],
    ],
    ids=["alone", "number", "tensor", "array", "further down"],
)
@pytest.mark.parametrize(
    "make", [flow.tensor, flow.as_tensor, flow.Tensor, flow.ones(3).new_tensor]
)
def test_lists_within_themselves_are_refused(make, data) -> None:
    with pytest.raises(TypeError, match="self-referential lists"):
        make(data)


def test_lists_within_themselves_are_no_index() -> None:
    for index in (_within_itself(), _within_itself(flow.tensor(0))):
        with pytest.raises((ValueError, IndexError, TypeError)):
            flow.ones(3)[index]
