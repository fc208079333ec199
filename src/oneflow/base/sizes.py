"""Types of sizes that are one number or one per dimension.

Programs ask them for ``__origin__`` and ``__args__`` and evaluate their `repr`, so that they are
types of `typing`.
"""
# ruff: noqa: UP006, UP007, UP035

from __future__ import annotations

from collections.abc import Sequence
from typing import Tuple, TypeAlias, Union

Size1: TypeAlias = Union[int, Tuple[int]]
Size2: TypeAlias = Union[int, Tuple[int, int]]
Size3: TypeAlias = Union[int, Tuple[int, int, int]]
Size4: TypeAlias = Union[int, Tuple[int, int, int, int]]
Size5: TypeAlias = Union[int, Tuple[int, int, int, int, int]]
Size6: TypeAlias = Union[int, Tuple[int, int, int, int, int, int]]
Sizes: TypeAlias = Union[int, Tuple[int, ...]]
Ratio2: TypeAlias = Union[float, Tuple[float, float]]
Ratio3: TypeAlias = Union[float, Tuple[float, float, float]]
Ratios: TypeAlias = Union[float, Tuple[float, ...]]
IntOrInts: TypeAlias = Union[int, Sequence[int]]
