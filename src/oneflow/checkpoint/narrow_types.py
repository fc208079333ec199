"""Element types that only files have, and the dtypes as which they are read.

No tensor has numbers of 8 bits. bfloat16 holds every one of them exactly, as complex64 holds those
of two half-precision numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

_HALF_PAIR = np.dtype([("real", np.float16), ("imaginary", np.float16)])


@dataclass(frozen=True)
class NarrowType:
    """An element type of a file.

    Attributes:
        name: in PyTorch.
        numpy: the type that stored elements are read as first; NumPy does not know all others.
        element: what they are.
        read_as: the type that they become.
    """

    name: str
    numpy: np.dtype
    element: np.dtype
    read_as: np.dtype

    @property
    def itemsize(self) -> int:
        """The number of bytes of a stored element."""
        return self.numpy.itemsize

    def widened(self, array: np.ndarray) -> np.ndarray:
        """Return an array of stored elements as one of `read_as`."""
        if self.element == _HALF_PAIR:
            return array["real"] + np.complex64(1j) * array["imaginary"]
        return array.view(self.element).astype(self.read_as)


_FLOAT8 = {
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}
# The types by their names in the safetensors format.
NARROW_TYPES = {
    kind: NarrowType(
        scalar_type.__name__,
        np.dtype(np.uint8),
        np.dtype(scalar_type),
        np.dtype(ml_dtypes.bfloat16),
    )
    for kind, scalar_type in _FLOAT8.items()
}
COMPLEX32 = NarrowType("complex32", _HALF_PAIR, _HALF_PAIR, np.dtype(np.complex64))
