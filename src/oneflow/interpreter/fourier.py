"""The rule of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import UnsupportedEquation, dtype_of, rule

_FUNCTIONS = {
    "FFT": np.fft.fft,
    "IFFT": np.fft.ifft,
    "RFFT": np.fft.rfft,
    "IRFFT": np.fft.irfft,
}


@rule("fft")
def _fft(equation: Any) -> Callable:
    """A transform along the last dimension; XLA's of several dimensions are not used."""
    lengths = equation.params["fft_lengths"]
    if len(lengths) != 1:
        raise UnsupportedEquation(f"a Fourier transform of {len(lengths)} dimensions")
    function, dtype = _FUNCTIONS[equation.params["fft_type"].name], dtype_of(equation.outvars[0])
    return lambda x: function(x, lengths[0]).astype(dtype, copy=False)
