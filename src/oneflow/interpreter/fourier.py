"""The rule of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import UnsupportedEquation, dtype_of, rule

# NumPy's names of XLA's transforms.
_NUMPY_NAMES = {"FFT": "fft", "IFFT": "ifft", "RFFT": "rfft", "IRFFT": "irfft"}


@rule("fft")
def _fft(equation: Any) -> Callable:
    """A transform along the last dimension; XLA's of several dimensions are not used."""
    lengths = equation.params["fft_lengths"]
    if len(lengths) != 1:
        raise UnsupportedEquation(f"a Fourier transform of {len(lengths)} dimensions")
    function = getattr(np.fft, _NUMPY_NAMES[equation.params["fft_type"].name])
    dtype = dtype_of(equation.outvars[0])
    return lambda x: function(x, lengths[0]).astype(dtype, copy=False)
