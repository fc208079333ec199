"""Initialisation of weights that `oneflow.nn.init` does not have."""

from __future__ import annotations

import math
from typing import Literal

import oneflow as flow
from oneflow import Tensor, nn
from oneflow.nn.init import trunc_normal_ as trunc_normal_

# The standard deviation of a normal distribution with mean 0 and deviation 1 that is cut off at -2
# and 2.
_TRUNCATED_DEVIATION = 0.87962566103423978


def variance_scaling_(
    tensor: Tensor,
    scale: float = 1.0,
    mode: Literal["fan_in", "fan_out", "fan_avg"] = "fan_in",
    distribution: Literal["normal", "truncated_normal", "uniform"] = "normal",
) -> Tensor:
    """Fill with random numbers of variance ``scale / fan``.

    Args:
        tensor: weights of at least two dimensions, of shape (outputs, inputs, ...).
        scale: the factor of the variance.
        mode: whether the fan is the number of inputs, of outputs, or the mean of both.
        distribution: the distribution of the numbers; "truncated_normal" is cut off at two standard
            deviations.

    Raises:
        ValueError: if there is no such mode or distribution.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.weight_init import variance_scaling_
        >>> variance_scaling_(flow.empty(3, 5), mode="fan_avg", distribution="uniform").shape
        oneflow.Size([3, 5])
    """
    fan = nn.init.calc_fan(tuple(tensor.shape), mode, "NCHW")
    deviation = math.sqrt(scale / fan)
    if distribution == "normal":
        return nn.init.normal_(tensor, std=deviation)
    if distribution == "truncated_normal":
        std = deviation / _TRUNCATED_DEVIATION
        return nn.init.trunc_normal_(tensor, std=std, a=-2 * std, b=2 * std)
    if distribution == "uniform":
        bound = math.sqrt(3) * deviation
        return nn.init.uniform_(tensor, -bound, bound)
    raise ValueError(
        f"`distribution` must be 'normal', 'truncated_normal' or 'uniform', not {distribution!r}"
    )


def lecun_normal_(tensor: Tensor) -> Tensor:
    """Fill with truncated normally distributed numbers of variance ``1 / fan_in``.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.weight_init import lecun_normal_
        >>> abs(lecun_normal_(flow.empty(400, 100)).std().item() - 0.1) < 0.01
        True
    """
    return variance_scaling_(tensor, mode="fan_in", distribution="truncated_normal")


def init_transformer_(model: nn.Module) -> None:
    """Initialise all linear maps in `model` as vision transformers do.

    Weights are normally distributed with standard deviation 0.02, cut off at -2 and 2, and biases
    are zero. Other layers keep what they begin with.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def init_conv_(model: nn.Module, linear_std: float | None = None) -> None:
    """Draw the weights of a convolutional network as its paper's training does.

    Convolutions get normally distributed weights that preserve the variance of gradients through
    rectifiers (https://arxiv.org/abs/1502.01852), and biases of zero.

    Args:
        model: whose convolutions, and linear layers if there is `linear_std`, are drawn anew.
        linear_std: the standard deviation of the weights of linear layers, whose biases become
            zero; by default linear layers stay as they are.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear) and linear_std is not None:
            nn.init.normal_(module.weight, std=linear_std)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def learned_tokens(tokens: int, dim: int) -> nn.Parameter:
    """Return a parameter of shape (1, tokens, dim) with truncated normal values of deviation 0.02.

    It is a token that is the same for all images, or what is added to each token of an image.
    """
    return nn.Parameter(nn.init.trunc_normal_(flow.empty(1, tokens, dim), std=0.02))
