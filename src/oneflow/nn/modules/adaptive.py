"""Softmax over many classes, few of them frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.index.gather import gather
from oneflow.functional.nn.softmax import log_softmax
from oneflow.functional.shape.concat import cat
from oneflow.module.module import Module
from oneflow.nn.modules.container import ModuleList, Sequential
from oneflow.nn.modules.linear import Linear
from oneflow.tensor.tensor import Tensor


class AdaptiveLogSoftmaxOutput(NamedTuple):
    """The log probability of each target, and the mean of their negatives.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4])
        >>> result = layer(flow.ones(3, 8), flow.tensor([0, 7, 19]))
        >>> result.output.shape, result.loss.shape
        (oneflow.Size([3]), oneflow.Size([]))
    """

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax layer whose rare classes have fewer features.

    Grave et al., "Efficient softmax approximation for GPUs" (2017). Classes are sorted by how
    frequent they are. The first ones have an output each in the head; the others are in clusters,
    which have one output in the head, and a tail that projects the input to fewer features.
    Every cluster is computed for every row, so that shapes do not depend on targets.

    Args:
        in_features: length of an input.
        n_classes: number of classes.
        cutoffs: increasing numbers of classes: each begins the next cluster.
        div_value: cluster ``i``, from 1, has ``in_features // div_value ** i`` features.
        head_bias: the head has a bias.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        head: a `Linear` layer to the first classes and one output for each cluster.
        tail: for each cluster two `Linear` layers without bias, by way of fewer features.

    Shape:
        input: ``(N, in_features)`` or ``(in_features)``.
        target: ``(N)`` or ``()``, classes from 0 to ``n_classes - 1``.
        output: ``(N)`` or ``()``, the log probability of each target.
        loss: ``()``.

    Raises:
        ValueError: `cutoffs` do not increase from at least 1 to less than `n_classes`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
        >>> output, loss = layer(flow.ones(3, 8), flow.tensor([0, 7, 19]))
        >>> output.shape, layer.log_prob(flow.ones(3, 8)).exp().sum(1).round().tolist()
        (oneflow.Size([3]), [1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        starts = [int(cutoff) for cutoff in cutoffs]
        if not starts or starts != sorted({*starts}) or starts[0] < 1 or starts[-1] >= n_classes:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                f"order, where each value is between 1 and n_classes-1, got {cutoffs}"
            )
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        self.head_bias = head_bias
        self.cutoffs = [*starts, n_classes]
        self.shortlist_size, self.n_clusters = starts[0], len(starts)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(self._clusters(), start=1):
            features = int(in_features // div_value**number)
            project = Linear(in_features, features, bias=False, **options)
            self.tail.append(Sequential(project, Linear(features, high - low, False, **options)))

    def _clusters(self) -> list[tuple[int, int]]:
        """The first class of each cluster, and of the next cluster."""
        return list(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True))

    def reset_parameters(self) -> None:
        """Give all weights new first values."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> AdaptiveLogSoftmaxOutput:
        """Return the log probabilities of targets, and the loss.

        Args:
            input: ``[N, in_features]`` or ``[in_features]``.
            target: classes, ``[N]`` or ``[]``.

        Raises:
            RuntimeError: shapes do not fit; or (at the next read of a value) there is no such
                class.
        """
        if target.ndim > 1 or input.ndim != target.ndim + 1:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: `target` must have one dimension less than `input`, "
                f"0 or 1, got shapes {list(target.shape)} and {list(input.shape)}"
            )
        if input.shape[:-1] != target.shape:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: Input and target should have the same size in the "
                f"batch dimension, got {list(input.shape)} and {list(target.shape)}"
            )
        head = log_softmax(self.head(input), -1)
        # A target that is no class keeps its value, so that the lookup of its score reports it.
        in_tail = (target >= self.shortlist_size) & (target < self.n_classes)
        output = _gather_classes(head, where(in_tail, 0, target))
        for number, (low, high) in enumerate(self._clusters()):
            inside = (target >= low) & (target < high)
            cluster = log_softmax(self.tail[number](input), -1)
            target_scores = _gather_classes(cluster, where(inside, target - low, 0))
            output = where(inside, head[..., self.shortlist_size + number] + target_scores, output)
        return AdaptiveLogSoftmaxOutput(output, -output.mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log probabilities of all classes, ``[N, n_classes]``."""
        head = log_softmax(self.head(input), -1)
        parts = [head[..., : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            at = self.shortlist_size + number
            parts.append(head[..., at : at + 1] + log_softmax(tail(input), -1))
        return cat(parts, -1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each row, ``[N]``."""
        return self.log_prob(input).argmax(-1)


def _gather_classes(log_probabilities: Tensor, classes: Tensor) -> Tensor:
    """The log probability of one class in each row."""
    return gather(log_probabilities, -1, classes.unsqueeze(-1)).squeeze(-1)
