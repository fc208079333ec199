"""Operators that XLA cannot compute on a platform raise an error of ours at the call."""

import pytest

import oneflow as flow
from oneflow.plan import planning

REFUSED = [
    (flow.fft.fft, flow.float64),
    (flow.fft.rfft, flow.float64),
    (flow.fft.irfft, flow.complex128),
    (flow.linalg.eig, flow.float32),
    (flow.linalg.eigvals, flow.complex64),
]
COMPUTED = [
    (flow.fft.fft, flow.float32),
    (flow.fft.irfft, flow.complex64),
    (flow.linalg.eigh, flow.float32),
]


def call(function, dtype, type):
    with planning():
        placement = flow.placement(type, [0])
        function(flow.zeros(4, 4, dtype=dtype, placement=placement, sbp=flow.sbp.broadcast))


@pytest.mark.parametrize(("function", "dtype"), REFUSED)
def test_what_a_tpu_cannot_compute_is_an_error_at_the_call(function, dtype):
    with pytest.raises(NotImplementedError, match=r"cannot be computed on `tpu`: .*`.cpu\(\)`"):
        call(function, dtype, "tpu")
    call(function, dtype, "cuda")


@pytest.mark.parametrize(("function", "dtype"), COMPUTED)
def test_what_a_tpu_can_compute_is_none(function, dtype):
    call(function, dtype, "tpu")
