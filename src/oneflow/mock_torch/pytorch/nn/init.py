"""PyTorch's older names of initializers, without the underscore, and its own for those within."""

from oneflow import Tensor
from oneflow.nn.init import (
    calc_fan,
    constant_ as _no_grad_fill_,
    constant_ as constant,
    dirac_ as dirac,
    eye_ as eye,
    kaiming_normal_ as kaiming_normal,
    kaiming_uniform_ as kaiming_uniform,
    normal_ as _no_grad_normal_,
    normal_ as normal,
    orthogonal_ as orthogonal,
    sparse_ as sparse,
    trunc_normal_ as _no_grad_trunc_normal_,
    uniform_ as _no_grad_uniform_,
    uniform_ as uniform,
    xavier_normal_ as xavier_normal,
    xavier_uniform_ as xavier_uniform,
    zeros_ as _no_grad_zero_,
)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> float:
    """Return the fan of a weight; `mode` is ``"fan_in"`` or ``"fan_out"``."""
    return calc_fan(tensor.shape, mode, "NCHW")


__all__ = [
    "_calculate_correct_fan",
    "_no_grad_fill_",
    "_no_grad_normal_",
    "_no_grad_trunc_normal_",
    "_no_grad_uniform_",
    "_no_grad_zero_",
    "constant",
    "dirac",
    "eye",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "orthogonal",
    "sparse",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
]
