"""The operators that torchaudio has in C++, built from operators of `oneflow` and SciPy."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

import oneflow as flow
from oneflow.mock_torch.pytorch.library import define, define_composite

# Declared, so that torchaudio can be imported; calling one says that it has no kernel.
_WITHOUT_KERNEL = (
    "forced_align",
    "rnnt_loss_forward",
    "rnnt_loss_backward",
)


# The share of an output of the overdrive that the next one keeps.
_DECAY = 0.995


def _recursive_filter(
    signal: flow.Tensor, flipped_coefficients: flow.Tensor, padded_output: flow.Tensor
) -> flow.Tensor:
    """Write the signal less the weighted outputs before it behind the padding of the output.

    Args:
        signal: a tensor of shape (batch, channels, samples).
        flipped_coefficients: a row of weights for each channel; the last, of the output itself, is
            1 and the one before it belongs to the last output.
        padded_output: a tensor of shape (batch, channels, weights - 1 + samples), with zeros before
            the first sample.
    """
    values = signal.detach().cpu().numpy()
    weights = flipped_coefficients.detach().cpu().numpy()[:, ::-1]
    filtered = [lfilter([1.0], row, values[:, channel]) for channel, row in enumerate(weights)]
    output = np.stack(filtered, 1).astype(values.dtype)
    padded_output[:, :, weights.shape[1] - 1 :] = flow.tensor(output, device=signal.device)
    return padded_output


def _overdrive(
    waveform: flow.Tensor,
    nonlinear: flow.Tensor,
    last_in: flow.Tensor,
    last_out: flow.Tensor,
    output: flow.Tensor,
) -> tuple[flow.Tensor, flow.Tensor, flow.Tensor]:
    """Write half of a waveform and three quarters of a nonlinear one without its mean.

    All are of shape (channels, samples), the last input and output of shape (channels,).
    """
    values = nonlinear.detach().cpu().numpy()
    before, out_before = (x.detach().cpu().numpy()[:, None] for x in (last_in, last_out))
    steps = np.diff(values, axis=1, prepend=before)
    filtered, _ = lfilter([1.0], [1.0, -_DECAY], steps, zi=_DECAY * out_before)
    filtered = flow.tensor(filtered.astype(values.dtype), device=waveform.device)
    output.copy_(waveform * 0.5 + filtered * 0.75)
    last_in.copy_(nonlinear[:, -1])
    last_out.copy_(filtered[:, -1])
    return last_in, last_out, output


def _is_align_available() -> bool:
    """Return False: torchaudio says so when an alignment is asked for."""
    return False


def _cuda_version() -> None:
    """Return None: nothing was built for CUDA."""


def register() -> None:
    """Define the operators under ``torch.ops.torchaudio`` and ``torch.ops._torchaudio``."""
    define_composite("_torchaudio::cuda_version", _cuda_version)
    define_composite("_torchaudio::is_align_available", _is_align_available)
    define_composite("torchaudio::_lfilter_core_loop", _recursive_filter)
    define_composite("torchaudio::_overdrive_core_loop", _overdrive)
    for name in _WITHOUT_KERNEL:
        define(f"torchaudio::{name}")
