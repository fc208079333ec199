"""Fourier transforms of short, overlapping segments of a signal, and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from oneflow.base.dtype import real_dtype
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.shape import as_integer
from oneflow.functional.creation.factory_functions import ones
from oneflow.functional.elementwise.complex import complex_
from oneflow.functional.fourier.transforms import fft, ifft, irfft, rfft
from oneflow.functional.nn.padding import pad
from oneflow.functional.nn.patches import fold
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import narrow, unfold, view_as_complex, view_as_real
from oneflow.primitives.operators.fourier import check_overlap
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class _Frames:
    """Stretches of a signal: `length` elements every `hop`, weighted by `window`."""

    length: int
    hop: int
    window: Tensor


def _frames(
    name: str, x: Tensor, n_fft: int, hop: int | None, win_length: int | None, window: Tensor | None
) -> _Frames:
    """Check the arguments that both directions share.

    Raises:
        RuntimeError: an impossible length, or a window of another one.
    """
    n_fft = as_integer(n_fft, "n_fft")
    hop = n_fft // 4 if hop is None else as_integer(hop, "hop_length")
    win_length = n_fft if win_length is None else as_integer(win_length, "win_length")
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length} and "
            f"n_fft={n_fft}"
        )
    if window is None:
        spec = x._value.spec
        window = ones(win_length, dtype=real_dtype(spec.dtype), device=spec.device)
    elif window.shape != (win_length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but "
            f"got window with size {list(window.shape)}"
        )
    before = (n_fft - win_length) // 2
    window = pad(window, [before, n_fft - win_length - before])
    return _Frames(n_fft, hop, window)


@function()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Tensor:
    """Short-time Fourier transform: `fft` of overlapping segments of a signal.

    Args:
        input: ``[length]`` or ``[batch, length]``, real or complex.
        n_fft: length of each stretch.
        hop_length: distance of their beginnings, by default a quarter of `n_fft`.
        win_length: length of the window, by default `n_fft`; a shorter one stands in the middle.
        window: weights of a stretch's elements, by default ones.
        center: pad the signal so that stretch ``t`` has its middle at ``t * hop_length``.
        pad_mode: how to pad, as in `nn.functional.pad`.
        normalized: divide by the root of `n_fft`.
        onesided: leave out the half that follows for real numbers; by default where it does.
        return_complex: return complex numbers; by default only for complex input or window. In
            PyTorch's place real ones need it.

    Returns:
        ``[batch, frequencies, segments]`` of complex numbers, or with a last dimension of 2 for
        the real and imaginary parts.

    Raises:
        RuntimeError: sizes that do not fit, half of what complex numbers give, or no
            `return_complex` where it is needed.

    Example:
        >>> import oneflow as flow
        >>> flow.stft(flow.ones(16), 8, return_complex=True).shape
        oneflow.Size([5, 9])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {input.ndim}D")
    frames = _frames("stft", input, n_fft, hop_length, win_length, window)
    is_complex = input.is_complex() or frames.window.is_complex()
    if return_complex is None and not is_complex and program_name() == PYTORCH:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs")
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("stft: onesided is not possible for complex input or window")
    x = input[None] if input.ndim == 1 else input
    if center:
        x = pad(x[None], [n_fft // 2, n_fft // 2], mode=pad_mode)[0]
    if not 0 < n_fft <= x.shape[1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[1]}, but got n_fft={n_fft}")
    segments = unfold(x, 1, n_fft, frames.hop) * frames.window
    transform = rfft if onesided else fft
    result = transform(segments, norm="ortho" if normalized else None).transpose(1, 2)
    result = result[0] if input.ndim == 1 else result
    returns_complex = is_complex if return_complex is None else return_complex
    return result if returns_complex else view_as_real(result)


def _overlap_add(segments: Tensor, hop: int) -> Tensor:
    """Add up the segments ``[batch, segments, length]`` where they lie: ``[batch, length]``."""
    if segments.is_complex():
        return complex_(_overlap_add(segments.real, hop), _overlap_add(segments.imag, hop))
    _, count, length = segments.shape
    total = length + hop * (count - 1)
    folded = fold(segments.transpose(1, 2), (1, total), (1, length), stride=(1, hop))
    return folded[:, 0, 0]


def _check_input(x: Tensor, frames: _Frames, onesided: bool) -> None:
    points = frames.length // 2 + 1 if onesided else frames.length
    if x.ndim != 3 or 0 in x.shape:
        raise RuntimeError(
            "istft: expected a non-empty tensor [frequencies, frames] or [batch, frequencies, "
            f"frames], but got shape {list(x.shape)}"
        )
    if x.shape[1] != points:
        raise RuntimeError(
            f"istft: expected {points} frequencies for n_fft={frames.length} and "
            f"onesided={onesided}, but got {x.shape[1]}"
        )
    if frames.hop > frames.length:
        raise RuntimeError(
            f"istft: hop_length {frames.hop} is larger than n_fft {frames.length}: there are gaps"
        )


@function()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Inverse of `stft`: the signal whose segments have these transforms, by least squares.

    Griffin and Lim, "Signal estimation from modified short-time Fourier transform" (1984).

    Args:
        input: ``[frequencies, segments]`` or ``[batch, frequencies, segments]``, complex.
        n_fft: the same as in `stft`, like all that follow.
        hop_length: distance of segments.
        win_length: length of the window.
        window: the window.
        center: the signal was padded.
        normalized: the transforms were divided.
        onesided: half of them was left out; by default what the number of frequencies says.
        length: length of the signal, cut off or continued with zeros; by default what follows.
        return_complex: the signal is complex.

    Returns:
        The signal, ``[length]`` or ``[batch, length]``.

    Raises:
        RuntimeError: sizes that do not fit; or the windows leave elements undetermined, which is
            raised when a value is read.

    Example:
        >>> import oneflow as flow
        >>> spectrum = flow.stft(flow.ones(4), 4, return_complex=True)
        >>> flow.istft(spectrum, 4)
        tensor([1., 1., 1., 1.], dtype=oneflow.float32)
    """
    x = input if input.is_complex() else view_as_complex(input)
    frames = _frames("istft", x, n_fft, hop_length, win_length, window)
    n_fft = as_integer(n_fft, "n_fft")
    length = None if length is None else as_integer(length, "length")
    has_batch = x.ndim == 3
    x = x if has_batch else x[None]
    if onesided is None:
        onesided = x.ndim == 3 and x.shape[1] != n_fft
    _check_input(x, frames, onesided)
    if return_complex and onesided:
        raise RuntimeError("istft: a complex signal cannot be had of half a transform (onesided)")
    norm, x = "ortho" if normalized else None, x.transpose(1, 2)
    # The transform of a real signal is determined by its first half.
    transform = ifft if return_complex else irfft
    segments = transform(x, n_fft, norm=norm)
    weights = cast_to(frames.window, segments.dtype)
    squares = (weights * weights).expand(1, segments.shape[1], n_fft)
    signal = _overlap_add(segments * weights, frames.hop)
    weight = _overlap_add(squares, frames.hop)
    start = n_fft // 2 if center else 0
    end = signal.shape[1] - start if length is None else min(start + length, signal.shape[1])
    signal, weight = (narrow(samples, 1, start, end - start) for samples in (signal, weight))
    signal = call(check_overlap, signal / weight, weight)
    if length is not None and end - start < length:
        warnings.warn(f"istft: the signal ends before length {length}; zeros follow", stacklevel=2)
        signal = pad(signal, [0, length - (end - start)])
    return signal if has_batch else signal[0]
