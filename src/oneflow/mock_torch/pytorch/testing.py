"""Names that ``torch.testing`` has beside `oneflow.testing`."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.mock_torch.pytorch.file_check import FileCheck as FileCheck
from oneflow.testing import assert_close

# Relative and absolute tolerance, wider than those of `assert_close`.
_TOLERANCES = {
    flow.float16: (1e-3, 1e-3),
    flow.float32: (1e-4, 1e-5),
    flow.float64: (1e-5, 1e-8),
}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Check that tensors, or data of tensors, are close, whatever their dtypes.

    Args:
        actual: a tensor, number or list.
        expected: the same.
        rtol: the relative tolerance; by default, with `atol`, that of the dtypes.
        atol: the absolute tolerance.
        equal_nan: NaN equals itself.
        msg: the error's text.

    Raises:
        AssertionError: they are not close.
    """
    warn_in_place_of_pytorch(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    actual = flow.as_tensor(actual)
    if not isinstance(expected, flow.Tensor):
        expected = flow.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        pairs = [_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(tolerances) for tolerances in zip(*pairs, strict=True))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )


__all__ = ["assert_allclose"]
