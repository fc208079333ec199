"""PyTorch's older names of initializers, without the underscore."""

from oneflow import Tensor
from oneflow.nn.init import (
    calc_fan,
    constant_ as constant,
    dirac_ as dirac,
    eye_ as eye,
    kaiming_normal_ as kaiming_normal,
    kaiming_uniform_ as kaiming_uniform,
    normal_ as normal,
    orthogonal_ as orthogonal,
    sparse_ as sparse,
    uniform_ as uniform,
    xavier_normal_ as xavier_normal,
    xavier_uniform_ as xavier_uniform,
)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> float:
    """Return the fan of a weight; `mode` is ``"fan_in"`` or ``"fan_out"``."""
    return calc_fan(tensor.shape, mode, "NCHW")


__all__ = [
    "_calculate_correct_fan",
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
