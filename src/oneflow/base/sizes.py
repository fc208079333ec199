"""Types of sizes that are one number or one per dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Size1: TypeAlias = int | tuple[int]
Size2: TypeAlias = int | tuple[int, int]
Size3: TypeAlias = int | tuple[int, int, int]
Size4: TypeAlias = int | tuple[int, int, int, int]
Size5: TypeAlias = int | tuple[int, int, int, int, int]
Size6: TypeAlias = int | tuple[int, int, int, int, int, int]
Sizes: TypeAlias = int | tuple[int, ...]
Ratio2: TypeAlias = float | tuple[float, float]
Ratio3: TypeAlias = float | tuple[float, float, float]
Ratios: TypeAlias = float | tuple[float, ...]
IntOrInts: TypeAlias = int | Sequence[int]
