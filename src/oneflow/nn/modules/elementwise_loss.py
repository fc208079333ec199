"""Losses that compare two tensors element by element, as modules."""

from __future__ import annotations

from oneflow.base.flags import reject_strings
from oneflow.functional.nn import elementwise_loss as functional
from oneflow.nn.modules.loss import _Loss, _WeightedLoss
from oneflow.tensor.tensor import Tensor


class MSELoss(_Loss):
    """Squared differences.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MSELoss()(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 4.0]))
        tensor(2., dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """Absolute differences.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.L1Loss()(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 4.0]))
        tensor(1., dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.l1_loss(input, target, self.reduction)


class SmoothL1Loss(_Loss):
    """Half the square of differences below `beta`, divided by it; beyond, the difference itself.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        beta: where the parabola ends.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SmoothL1Loss()(flow.tensor([1.0, 2.0]), flow.tensor([1.5, 4.0]))
        tensor(0.8125, dtype=oneflow.float32)
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.smooth_l1_loss(input, target, self.beta, self.reduction)


class HuberLoss(_Loss):
    """Half the square of differences up to `delta`, a straight line beyond.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        delta: where the parabola ends.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.HuberLoss()(flow.tensor([1.0, 2.0]), flow.tensor([1.5, 4.0]))
        tensor(0.8125, dtype=oneflow.float32)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.huber_loss(input, target, self.reduction, self.delta)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.SoftMarginLoss()(flow.tensor([0.0]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.soft_margin_loss(input, target, self.reduction)


class BCELoss(_WeightedLoss):
    """Cross entropy between probabilities and targets in [0, 1].

    Args:
        weight: factor of each element, broadcast.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Attributes:
        weight: the factors as they were given; None without.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BCELoss()(flow.tensor([0.5]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """Cross entropy between the sigmoid of logits and targets in [0, 1].

    Args:
        weight: factor of each element, broadcast.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        pos_weight: factor of the positive part, broadcast; usually one per class.

    Attributes:
        weight: the factors as they were given; None without.
        pos_weight: likewise.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.BCEWithLogitsLoss()(flow.tensor([0.0]), flow.tensor([1.0]))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(weight, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, self.pos_weight, self.reduction
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of the target from the input.

    Args:
        reduction: ``"none"``, ``"mean"``, ``"batchmean"`` or ``"sum"``.
        log_target: whether targets are logarithms too.

    Shape:
        input: ``(*)``, log probabilities of any shape, often ``(N, C)``.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.KLDivLoss("batchmean")(flow.tensor([[0.0]]), flow.tensor([[1.0]])).item()
        0.0
    """

    @reject_strings
    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.kl_div(input, target, self.log_target, self.reduction)


class PoissonNLLLoss(_Loss):
    """Negative log likelihood of counts under a Poisson distribution.

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: add Stirling's approximation of the constant term.
        eps: added to the rate before its logarithm is taken.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PoissonNLLLoss()(flow.tensor([0.0]), flow.tensor([2.0]))
        tensor(1., dtype=oneflow.float32)
    """

    def __init__(
        self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.poisson_nll_loss(
            input, target, self.log_input, self.full, self.eps, self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Negative log likelihood under normal distributions.

    Args:
        full: add the constant term.
        eps: variances are at least this.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(*)``, the means.
        target: ``(*)``, as the input.
        var: the shape of the input, without its last dimension, with 1 in its place, or a number.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.GaussianNLLLoss()(flow.tensor([1.0]), flow.tensor([3.0]), flow.ones(1))
        tensor(2., dtype=oneflow.float32)
    """

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return functional.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)
