"""Signals: discrete Fourier transforms, windows and mel filters."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import check_size, integer, normalize_axis, number


@operator("DFT", since=17, host=(1,), evaluation=Evaluation.TENSORS)
def dft_along(
    x: Tensor,
    length: np.ndarray | None = None,
    *,
    axis: int = 1,
    inverse: int = 0,
    onesided: int = 0,
) -> Tensor:
    """Transform along an axis, an attribute before operator set 20."""
    return dft(x, length, np.asarray(axis), inverse=inverse, onesided=onesided)


@operator("DFT", since=20, host=(1, 2), evaluation=Evaluation.TENSORS)
def dft(
    x: Tensor,
    length: np.ndarray | None = None,
    axis: np.ndarray | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Tensor:
    """Discrete Fourier transform of real signals, or of pairs of real and imaginary parts.

    It is a product with the matrix of the transform, so that it has gradients. The last dimension
    of the result holds real and imaginary part, or only the real part of a onesided inverse.
    """
    dim = normalize_axis(-2 if axis is None else integer(axis), x.ndim)
    inputs = x.shape[dim]
    complex_input = x.shape[-1] == 2
    if inverse and onesided:
        count = integer(length) if length is not None else 2 * (inputs - 1)
        x = _mirrored(x, dim, count)
        inputs = count
    count = integer(length) if length is not None else inputs
    used = min(count, inputs)
    bins = count // 2 + 1 if onesided and not inverse else count
    check_size([bins, used])
    angles = 2 * np.pi * np.outer(np.arange(bins), np.arange(used)) / count
    sign, scale = (1.0, 1 / count) if inverse else (-1.0, 1.0)
    cosine = flow.tensor(np.cos(angles) * scale, dtype=x.dtype, device=x.device)
    sine = flow.tensor(sign * np.sin(angles) * scale, dtype=x.dtype, device=x.device)
    signal = x.narrow(dim, 0, used).movedim(dim, 0)
    real = signal[..., 0]
    out_real, out_imag = _product(cosine, real), _product(sine, real)
    if complex_input:
        imag = signal[..., 1]
        out_real = out_real - _product(sine, imag)
        out_imag = out_imag + _product(cosine, imag)
    parts = [out_real] if inverse and onesided else [out_real, out_imag]
    return flow.stack(parts, -1).movedim(0, dim)


def _product(matrix: Tensor, x: Tensor) -> Tensor:
    return flow.matmul(matrix, x.reshape(x.shape[0], -1)).reshape(matrix.shape[0], *x.shape[1:])


def _mirrored(x: Tensor, dim: int, count: int) -> Tensor:
    """Return all bins of a spectrum whose other half is the conjugate of the one given."""
    half = x.narrow(dim, 0, min(x.shape[dim], count // 2 + 1))
    rest = flow.flip(half.narrow(dim, 1, count - half.shape[dim]), [dim])
    signs = flow.tensor([1.0, -1.0], dtype=x.dtype, device=x.device)
    return flow.cat([half, rest * signs], dim)


@operator("STFT", since=17, host=(1, 3), evaluation=Evaluation.TENSORS)
def stft(
    signal: Tensor,
    frame_step: np.ndarray,
    window: Tensor | None = None,
    frame_length: np.ndarray | None = None,
    *,
    onesided: int = 1,
) -> Tensor:
    """Transform overlapping frames of signals: (batch, frames, bins, 2)."""
    step = integer(frame_step)
    if frame_length is not None:
        length = integer(frame_length)
    elif window is not None:
        length = window.shape[0]
    else:
        raise ValueError("neither `window` nor `frame_length` is given")
    frames = (signal.shape[1] - length) // step + 1
    places = np.arange(frames)[:, None] * step + np.arange(length)
    index = flow.tensor(places.reshape(-1), device=signal.device)
    cut = flow.index_select(signal, 1, index)
    cut = cut.reshape(signal.shape[0], frames, length, *signal.shape[2:])
    if cut.ndim == 3:
        cut = cut.unsqueeze(-1)
    if window is not None:
        cut = cut * window.reshape(1, 1, -1, 1)
    return dft(cut, axis=np.asarray(2), onesided=onesided)


def _cosine_window(
    size: np.ndarray, coefficients: tuple[float, ...], output_datatype: int, periodic: int
) -> np.ndarray:
    count = integer(size)
    check_size([count])
    angle = 2 * np.pi * np.arange(count) / (count if periodic else max(count - 1, 1))
    terms = (c * (-1) ** k * np.cos(k * angle) for k, c in enumerate(coefficients))
    return np.asarray(sum(terms)).astype(helper.tensor_dtype_to_np_dtype(output_datatype))


@operator("HannWindow", since=17, host=(0,), evaluation=Evaluation.TENSORS)
def hann_window(
    size: np.ndarray, *, output_datatype: int = onnx.TensorProto.FLOAT, periodic: int = 1
) -> np.ndarray:
    """Return a Hann window."""
    return _cosine_window(size, (0.5, 0.5), output_datatype, periodic)


@operator("HammingWindow", since=17, host=(0,), evaluation=Evaluation.TENSORS)
def hamming_window(
    size: np.ndarray, *, output_datatype: int = onnx.TensorProto.FLOAT, periodic: int = 1
) -> np.ndarray:
    """Return a Hamming window."""
    return _cosine_window(size, (25 / 46, 21 / 46), output_datatype, periodic)


@operator("BlackmanWindow", since=17, host=(0,), evaluation=Evaluation.TENSORS)
def blackman_window(
    size: np.ndarray, *, output_datatype: int = onnx.TensorProto.FLOAT, periodic: int = 1
) -> np.ndarray:
    """Return a Blackman window."""
    return _cosine_window(size, (0.42, 0.5, 0.08), output_datatype, periodic)


def _mel(frequency: float) -> float:
    return 2595 * np.log10(1 + frequency / 700)


@operator("MelWeightMatrix", since=17, host=(0, 1, 2, 3, 4), evaluation=Evaluation.TENSORS)
def mel_weight_matrix(
    num_mel_bins: np.ndarray,
    dft_length: np.ndarray,
    sample_rate: np.ndarray,
    lower_edge_hertz: np.ndarray,
    upper_edge_hertz: np.ndarray,
    *,
    output_datatype: int = onnx.TensorProto.FLOAT,
) -> np.ndarray:
    """Return triangular filters, evenly spaced in mel, as a matrix (bins, filters)."""
    count, length = integer(num_mel_bins), integer(dft_length)
    num_rows = length // 2 + 1
    check_size([num_rows, count])
    low, high = _mel(number(lower_edge_hertz)), _mel(number(upper_edge_hertz))
    mels = low + np.arange(count + 2) * ((high - low) / (count + 2))
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = ((length + 1) * hertz // integer(sample_rate)).astype(np.int64)
    weights = np.zeros((num_rows, count))
    for index in range(count):
        left, middle, right = edges[index : index + 3]
        if left == middle:
            weights[middle, index] = 1
        else:
            left_part = np.arange(left, middle + 1)
            weights[left_part, index] = (left_part - left) / (middle - left)
        if right > middle:
            right_part = np.arange(middle, right)
            weights[right_part, index] = (right - right_part) / (right - middle)
    return weights.astype(helper.tensor_dtype_to_np_dtype(output_datatype))
