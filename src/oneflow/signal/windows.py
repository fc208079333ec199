"""Windows of signals."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.fourier.signal_windows import (
    bartlett as bartlett,
    blackman as blackman,
    cosine as cosine,
    exponential as exponential,
    gaussian as gaussian,
    general_cosine as general_cosine,
    general_hamming as general_hamming,
    hamming as hamming,
    hann as hann,
    kaiser as kaiser,
    nuttall as nuttall,
)

# fmt: off
__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]
# fmt: on
