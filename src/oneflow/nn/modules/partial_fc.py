"""The sampling step of Partial FC as a layer."""

from __future__ import annotations

from oneflow.functional.nn.partial_fc import distributed_partial_fc_sample
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class DistributedPariticalFCSample(Module):
    """`oneflow.distributed_partial_fc_sample` as a layer (the spelling is upstream's).

    Args:
        num_sample: how many classes to choose.

    Shape:
        weight: ``(C, D)``, a vector for each class.
        label: ``(N)``.
        mapped_label: ``(N)``, the labels as numbers of chosen classes.
        sampled_label: ``(num_sample)``, the chosen classes.
        sampled_weight: ``(num_sample, D)``, their vectors.

    Example:
        >>> import oneflow as flow
        >>> sample = flow.nn.DistributedPariticalFCSample(5)
        >>> [tensor.shape for tensor in sample(flow.ones(10, 4), flow.tensor([7, 3, 3]))]
        [oneflow.Size([3]), oneflow.Size([5]), oneflow.Size([5, 4])]
    """

    def __init__(self, num_sample: int) -> None:
        super().__init__()
        self.num_sample = num_sample

    def forward(self, weight: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return distributed_partial_fc_sample(weight, label, self.num_sample)

    def extra_repr(self) -> str:
        """Say how many classes are chosen."""
        return f"num_sample={self.num_sample}"
