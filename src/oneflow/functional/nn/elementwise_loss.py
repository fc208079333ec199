"""Losses that compare two tensors element by element."""

from __future__ import annotations

import warnings

from oneflow.base.dtype import HALF_DTYPES
from oneflow.dispatch.mixed_precision import casting_targets
from oneflow.functional.elementwise.arithmetic import binary
from oneflow.functional.nn.loss import REDUCTIONS, check_reduction, reduced
from oneflow.functional.registry import function
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.primitives.operators import elementwise as p, loss as losses
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, promote_operands
from oneflow.tensor.tensor import Tensor


def _of_one_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors in the shape of the losses, so that one number counts when types are promoted.

    A loss of a float32 tensor and of a float64 number is float64, as PyTorch's, which expands them
    before it compares them.
    """
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size "
        f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size.",
        stacklevel=4,
    )
    input, target = broadcast_tensors(input, target)
    return input, target


def _compare(primitive: Primitive, input: Tensor, target: Tensor, *rest: float) -> Tensor:
    return call(primitive, *promote_operands(_of_one_shape(input, target)), *rest)


def _weighted(losses: Tensor, weight: Tensor | None) -> Tensor:
    return losses if weight is None else binary(p.mul, losses, weight)


def _difference(input: Tensor, target: Tensor) -> Tensor:
    """`input` less `target`; under mixed precision in float32, which losses need."""
    if input._value.spec.device.type in casting_targets():
        input = input.float() if input.dtype in HALF_DTYPES else input
        target = target.float() if target.dtype in HALF_DTYPES else target
    return binary(p.sub, input, target)


def _weighted_reduction(losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """The losses, their sum, or their mean with these weights."""
    if weight is None:
        return reduced(losses, reduction)
    check_reduction(reduction)
    total = reduced(_weighted(losses, weight), "sum" if reduction == "mean" else reduction)
    return binary(p.div, total, reduced(weight, "sum")) if reduction == "mean" else total


@function(method=False, namespace="nn.functional")
def mse_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """Squared differences.

    Args:
        input: any shape.
        target: same shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: factor of each element; the mean then divides by the sum of the weights.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.mse_loss(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 4.0]))
        tensor(2., dtype=oneflow.float32)
    """
    input, target = _of_one_shape(input, target)
    if input.dtype.is_complex or target.dtype.is_complex:
        raise NotImplementedError(
            f'"mse_loss" not implemented for {input.dtype!r} and {target.dtype!r}: compare '
            "`flow.view_as_real` of both"
        )
    return _weighted_reduction(call(p.square, _difference(input, target)), weight, reduction)


@function(method=False, namespace="nn.functional")
def l1_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """Absolute differences.

    Args:
        input: any shape.
        target: same shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: factor of each element; the mean then divides by the sum of the weights.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.l1_loss(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 4.0]))
        tensor(1., dtype=oneflow.float32)
    """
    input, target = _of_one_shape(input, target)
    return _weighted_reduction(call(p.abs_, _difference(input, target)), weight, reduction)


@function(
    method=False, namespace="nn.functional", keyword_aliases={"input": "logits", "target": "label"}
)
def smooth_l1_loss(
    logits: Tensor, label: Tensor, beta: float | str = 1.0, reduction: str | float = "mean"
) -> Tensor:
    """Half the square of differences below `beta`, divided by it; beyond, the difference itself.

    Args:
        logits: any shape.
        label: same shape.
        beta: where the parabola ends; 0 gives `l1_loss`.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``. PyTorch's order, `reduction` before `beta`,
            works too.

    Raises:
        RuntimeError: `beta` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.smooth_l1_loss(flow.tensor([1.0, 2.0]), flow.tensor([1.5, 4.0]))
        tensor(0.8125, dtype=oneflow.float32)
    """
    if isinstance(beta, str):
        beta, reduction = (1.0 if isinstance(reduction, str) else reduction), beta
    if not beta >= 0:  # NaN, too
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return reduced(_compare(losses.smooth_l1, logits, label, as_float(beta, "beta")), reduction)


@function(method=False, namespace="nn.functional")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the square of differences up to `delta`, a straight line beyond.

    Args:
        input: any shape.
        target: same shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        delta: where the parabola ends; above 0.
        weight: factor of each element.

    Raises:
        RuntimeError: `delta` is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.huber_loss(flow.tensor([1.0, 2.0]), flow.tensor([1.5, 4.0]))
        tensor(0.8125, dtype=oneflow.float32)
    """
    if not delta > 0:  # NaN, too
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    elementwise = _compare(losses.huber, input, target, as_float(delta, "delta"))
    return reduced(_weighted(elementwise, weight), reduction)


@function(method=False, namespace="nn.functional")
def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Args:
        input: any shape.
        target: same shape.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.soft_margin_loss(flow.tensor([0.0]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """
    return reduced(call(losses.soft_margin, *promote_operands((input, target))), reduction)


def _check_same_size(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )


@function(method=False, namespace="nn.functional", also=("_C.binary_cross_entropy_loss",))
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Cross entropy between probabilities and targets in [0, 1].

    Args:
        input: probabilities.
        target: same shape.
        weight: factor of each element, broadcast.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ.
        RuntimeError: a probability outside [0, 1], when a result is next read.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.binary_cross_entropy(flow.tensor([0.5]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """
    _check_same_size(input, target)
    elementwise = call(losses.binary_cross_entropy, *promote_operands((input, target)))
    return reduced(_weighted(elementwise, weight), reduction)


@function(
    method=False,
    namespace="nn.functional",
    also=("_C.binary_cross_entropy_with_logits_loss", "binary_cross_entropy_with_logits"),
)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`binary_cross_entropy` of the sigmoid of `input`, computed without overflow.

    Args:
        input: logits.
        target: same shape.
        weight: factor of each element, broadcast.
        pos_weight: factor of the positive part, broadcast; usually one per class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import oneflow as flow
        >>> loss = flow.nn.functional.binary_cross_entropy_with_logits
        >>> loss(flow.tensor([0.0]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """
    _check_same_size(input, target)
    operands = promote_operands((input, target, 1.0 if pos_weight is None else pos_weight))
    elementwise = call(losses.binary_cross_entropy_with_logits, *operands)
    return reduced(_weighted(elementwise, weight), reduction)


@function(method=False, namespace="nn.functional", also=("kl_div",))
def kl_div(
    input: Tensor,
    target: Tensor,
    log_target: bool | str = False,
    reduction: str | bool = "mean",
) -> Tensor:
    """Kullback-Leibler divergence of `target` from `input`.

    Args:
        input: logarithms of probabilities.
        target: probabilities, or their logarithms with `log_target`; negative ones count as 0.
        log_target: whether `target` has logarithms.
        reduction: ``"none"``, ``"mean"`` (over all elements), ``"batchmean"`` (the divergence
            itself: the sum over the number of samples) or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.5, 0.5]]).log()
        >>> flow.nn.functional.kl_div(x, flow.tensor([[0.5, 0.5]]), reduction="batchmean").item()
        0.0
    """
    primitive = losses.kl_div_log if log_target else losses.kl_div
    elementwise = call(primitive, *promote_operands((input, target)))
    if reduction == "batchmean":
        return call(p.div, reduced(elementwise, "sum"), input.shape[0])
    check_reduction(str(reduction), (*REDUCTIONS, "batchmean"))
    return reduced(elementwise, reduction)


@function(method=False, namespace="nn.functional", also=("poisson_nll_loss",))
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts under a Poisson distribution.

    Args:
        input: the logarithm of the rate, or the rate itself.
        target: the counts.
        log_input: whether `input` is the logarithm.
        full: add Stirling's approximation of the constant term.
        eps: added to the rate before its logarithm is taken.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.poisson_nll_loss(flow.tensor([0.0]), flow.tensor([2.0]))
        tensor(1., dtype=oneflow.float32)
    """
    options = {"log_input": log_input, "full": full}
    operands = promote_operands((input, target), floating=True)
    elementwise = call(losses.poisson_nll, *operands, as_float(eps, "eps"), **options)
    return reduced(elementwise, reduction)


@function(method=False, namespace="nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood under normal distributions.

    Args:
        input: the means.
        target: the observations.
        var: the variances: of `input`'s shape, or without its last dimension, or with that of
            size 1.
        full: add the constant term.
        eps: variances are at least this.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: the shape of `var` does not fit, or, when a result is next read, it has
            negative entries.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([1.0]), flow.tensor([3.0])
        >>> flow.nn.functional.gaussian_nll_loss(x, y, flow.ones(1))
        tensor(2., dtype=oneflow.float32)
    """
    if isinstance(var, float | int):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        variance = call(p.mul, call(p.ones_like, input), var)
    else:
        variance = var
    if variance.shape != input.shape:
        if input.shape[:-1] == variance.shape:
            variance = variance.unsqueeze(-1)
        elif input.shape[:-1] != variance.shape[:-1] or variance.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    elementwise = call(
        losses.gaussian_nll, *promote_operands((input, target, variance)), as_float(eps, "eps")
    )
    if full:
        elementwise = call(p.add, elementwise, 0.9189385332046727)
    return reduced(elementwise, reduction)
