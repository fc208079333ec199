"""Losses and normalizations that were functions of `flow.nn` in job functions' time.

Importing this module lets calls in the bodies of jobs mean them. `name` names the operator, and the
variables of a normalization.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oneflow.functional.earlier_calls import earlier_meaning_of
from oneflow.functional.nn import elementwise_loss, margin_loss, normalization, patches
from oneflow.legacy.context import current_run
from oneflow.legacy.initializers import constant_initializer
from oneflow.legacy.variables import get_variable
from oneflow.nn.modules import (
    elementwise_loss as loss_modules,
    instancenorm,
    margin_loss as margin_modules,
    normalization as normalization_modules,
    patches as patch_modules,
)
from oneflow.tensor.tensor import Tensor


def _takes_blobs(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    """A test whether these arguments are blobs; today's layers are made of numbers and options."""
    return lambda arguments: all(isinstance(arguments[name], Tensor) for name in names)


_TAKES_PAIR = _takes_blobs("input", "target")


@earlier_meaning_of(loss_modules.L1Loss, matches=_TAKES_PAIR)
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """The absolute differences of two blobs, their mean or their sum."""
    return elementwise_loss.l1_loss(input, target, reduction=reduction)


@earlier_meaning_of(loss_modules.MSELoss, matches=_TAKES_PAIR)
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """The squared differences of two blobs, their mean or their sum."""
    return elementwise_loss.mse_loss(input, target, reduction=reduction)


@earlier_meaning_of(loss_modules.BCELoss, matches=_TAKES_PAIR)
def bce_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The cross entropy of probabilities, each of its own."""
    return elementwise_loss.binary_cross_entropy(input, target, weight, reduction=reduction)


@earlier_meaning_of(loss_modules.BCEWithLogitsLoss, matches=_TAKES_PAIR)
def bce_with_logits_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The cross entropy of logits, each of its own; `pos_weight` weighs positive ones."""
    return elementwise_loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=reduction, pos_weight=pos_weight
    )


@earlier_meaning_of(loss_modules.KLDivLoss, matches=_TAKES_PAIR)
def kl_div_loss(
    input: Tensor,
    target: Tensor,
    log_target: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The divergence of distributions; `input` holds logarithms, and `target` if it says so."""
    return elementwise_loss.kl_div(input, target, reduction=reduction, log_target=log_target)


@earlier_meaning_of(
    margin_modules.MarginRankingLoss, matches=_takes_blobs("input1", "input2", "target")
)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The loss of pairs in the wrong order; `target` is 1 where `input1` should rank higher."""
    return margin_loss.margin_ranking_loss(input1, input2, target, margin, reduction=reduction)


@earlier_meaning_of(
    margin_modules.TripletMarginLoss, matches=_takes_blobs("anchor", "positive", "negative")
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The loss of anchors that are not nearer to the positive than to the negative blob."""
    return margin_loss.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=reduction
    )


@earlier_meaning_of(patch_modules.PixelShuffle, matches=_takes_blobs("input"))
def pixel_shuffle(input: Tensor, upscale_factor: int, name: str | None = None) -> Tensor:
    """Images whose channels became pixels: ``(N, C * r * r, H, W)`` to ``(N, C, H * r, W * r)``."""
    return patches.pixel_shuffle(input, upscale_factor)


@earlier_meaning_of(normalization_modules.GroupNorm, matches=_takes_blobs("x"))
def group_norm(
    x: Tensor,
    num_groups: int = 32,
    eps: float = 1e-5,
    affine: bool = True,
    name: str | None = None,
) -> Tensor:
    """Each sample normalized over groups of channels and all positions.

    Args:
        x: a tensor of shape (N, C, *).
        num_groups: number of groups.
        eps: added to the variance.
        affine: whether variables `name`_gamma and `name`_beta scale and shift each channel.
        name: the name of the variables' beginning.

    Raises:
        ValueError: `num_groups` does not divide the channels.
    """
    return _normalized(x, num_groups, eps, affine, name, "GroupNorm_")


@earlier_meaning_of(
    instancenorm.InstanceNorm1d,
    instancenorm.InstanceNorm2d,
    instancenorm.InstanceNorm3d,
    matches=_takes_blobs("x"),
)
def instance_norm(
    x: Tensor, eps: float = 1e-5, affine: bool = True, name: str | None = None
) -> Tensor:
    """Each channel of each sample normalized over all positions; arguments as of `group_norm`."""
    return _normalized(x, x.shape[1], eps, affine, name, "InstanceNorm_")


def _normalized(
    x: Tensor, num_groups: int, eps: float, affine: bool, name: str | None, prefix: str
) -> Tensor:
    """`x` normalized in groups of channels, with variables whose names begin with `name`."""
    result = normalization.group_norm(x, num_groups, eps=eps)
    if not affine:
        return result
    name = name or current_run("a normalization").unique_name(prefix)
    shape = (1, x.shape[1], *[1] * (x.ndim - 2))
    gamma = get_variable(f"{name}_gamma", shape, x.dtype, constant_initializer(1))
    beta = get_variable(f"{name}_beta", shape, x.dtype, constant_initializer(0))
    return result * gamma + beta
