"""Products of 8-bit floats and their scales, of ``torch.nn.functional``."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing

_REASON = (
    "tensors of 8-bit floats do not exist; `grouped_mm` and `matmul` multiply those of 16 bits and"
    " wider ones"
)


class ScalingType(enum.IntEnum):
    """The parts of a matrix that have a scale each."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """The orders in which scales lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def scaled_mm(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to multiply matrices of 8-bit floats.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.nn.functional.scaled_mm", _REASON)


def scaled_grouped_mm(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to multiply groups of matrices of 8-bit floats.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.nn.functional.scaled_grouped_mm", _REASON)
