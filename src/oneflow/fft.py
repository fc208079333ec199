"""Discrete Fourier transforms."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.fourier.fft2 import (
    fft2 as fft2,
    hfft2 as hfft2,
    ifft2 as ifft2,
    ihfft2 as ihfft2,
    irfft2 as irfft2,
    rfft2 as rfft2,
)
from oneflow.functional.fourier.frequency import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)
from oneflow.functional.fourier.transforms import (
    fft as fft,
    fftn as fftn,
    hfft as hfft,
    hfftn as hfftn,
    ifft as ifft,
    ifftn as ifftn,
    ihfft as ihfft,
    ihfftn as ihfftn,
    irfft as irfft,
    irfftn as irfftn,
    rfft as rfft,
    rfftn as rfftn,
)

# fmt: off
__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]
# fmt: on
