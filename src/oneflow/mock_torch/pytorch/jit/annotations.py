"""Names of ``torch.jit.annotations``, for annotations that nothing reads."""

from collections.abc import Sequence
from typing import Any, Dict, List, Optional, Tuple, TypeVar  # noqa: UP035 - PyTorch's names

Element = TypeVar("Element")
# A number, or one for each dimension.
BroadcastingList1 = Element | Sequence[Element]
BroadcastingList2 = Element | Sequence[Element]
BroadcastingList3 = Element | Sequence[Element]

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "List",
    "Optional",
    "Tuple",
]
