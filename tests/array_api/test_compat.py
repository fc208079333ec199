"""`array_api_compat.torch` with `torch` replaced by `oneflow`, against `array_api_strict`."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from oneflow import mock_torch
from tests.array_api.calls import ARRAYS, CALLS
from tests.array_api.test_namespace import _both, _default_dtype as _default_dtype

# Differences from the standard as with PyTorch itself: in the wrapper, or in PyTorch's rules.
_CASTS, _INDICES, _SUMS = (
    "PyTorch casts within a kind",
    "PyTorch's indices are int64, or int32",
    "PyTorch's sums of integers are int64",
)
DIFFERENT = {
    **{call: "the wrapper refuses it" for call in CALLS if "unique_all" in call},
    "xp.can_cast(xp.int64, xp.int32)": _CASTS,
    "xp.can_cast(xp.uint8, xp.int8)": _CASTS,
    "xp.take(f, xp.asarray([1, 0], dtype=xp.int8), axis=1)": _INDICES,
    "xp.take(f, xp.asarray([1, 0], dtype=xp.uint64), axis=1)": _INDICES,
    "xp.take_along_axis(f, xp.astype(xp.argsort(f), xp.uint16), axis=-1)": _INDICES,
    "xp.take_along_axis(f, xp.asarray([[[-1, 0]]], dtype=xp.int8))": _INDICES,
    "xp.prod(u, axis=0)": _SUMS,
    "xp.sum(u)": _SUMS,
    "xp.sum(u, axis=(), keepdims=True)": _SUMS,
    "xp.cumulative_sum(u, axis=-1)": _SUMS,
    "xp.linalg.trace(u, offset=1)": _SUMS,
    "xp.count_nonzero(i, axis=())": "no dimensions mean all to PyTorch",
}


@pytest.fixture(scope="module")
def compat() -> Any:
    with mock_torch.enable():
        return importlib.import_module("array_api_compat.torch")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("call", CALLS)
def test_call(call: str, compat: Any) -> None:
    code = compile(call, "<call>", "eval")

    def run(namespace: Any) -> Any:
        arrays = {name: namespace.asarray(array) for name, array in ARRAYS.items()}
        return eval(code, {"xp": namespace, **arrays})

    if call in DIFFERENT:
        with pytest.raises((AssertionError, NotImplementedError, RuntimeError)):
            _both(run, compat)
    else:
        _both(run, compat)


def test_devices_are_found(compat: Any) -> None:
    info = compat.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.dtypes(kind="unsigned integer", device=info.devices()[0])


def test_own_arrays_are_shared_by_dlpack(compat: Any) -> None:
    x = compat.asarray([1.0, 2.0])
    for shared, copied in (
        ({}, {"copy": True}),
        ({"copy": False}, {"device": x.device, "copy": True}),
    ):
        shares, owns = compat.from_dlpack(x, **shared), compat.from_dlpack(x, **copied)
        x += 1
        np.testing.assert_array_equal(shares.numpy(), x.numpy())
        np.testing.assert_array_equal(owns.numpy(), x.numpy() - 1)
    with pytest.raises(BufferError, match="copy"):
        compat.from_dlpack(x, device="meta", copy=False)
