"""Reductions of integers and truth values with `dtype=`: what PyTorch computes is computed here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

REDUCTIONS = ["sum", "nansum", "prod", "mean", "cumsum", "cumprod", "softmax", "log_softmax"]
DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("source", ["bool", "uint8", "int8", "int64", "float16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_with_dtype_equal_pytorchs(name: str, source: str) -> None:
    def reduced(f: Any, dtype: str | None, options: dict[str, Any]) -> Any:
        x = f.tensor([[-20, 0, 80], [130, 3, 30]], dtype=f.int64).to(getattr(f, source))
        result = getattr(f, name)(x, **options, **({"dtype": getattr(f, dtype)} if dtype else {}))
        return str(result.dtype).rpartition(".")[2], np.asarray(result.tolist())

    is_whole = name in ("sum", "nansum", "prod", "mean")
    for dtype in (None, *DTYPES):
        for options in ({}, {"dim": 1, "keepdim": True}) if is_whole else ({"dim": 1},):
            try:
                theirs = reduced(torch, dtype, options)
            except (RuntimeError, NotImplementedError, TypeError):
                continue
            mine = reduced(flow, dtype, options)
            assert mine[0] == theirs[0], (dtype, options)
            np.testing.assert_allclose(mine[1], theirs[1], rtol=2e-3, err_msg=f"{dtype} {options}")
