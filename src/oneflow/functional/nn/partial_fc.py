"""A sample of the classes of a very large last layer.

An et al., "Partial FC: Training 10 Million Identities on a Single Machine" (2020),
https://arxiv.org/abs/2010.05222.
"""

from __future__ import annotations

from oneflow.functional.index.gather import index_select
from oneflow.functional.index.scatter import index_fill
from oneflow.functional.index.search import searchsorted, sort, topk
from oneflow.functional.random.creation import rand_like
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False)
def distributed_partial_fc_sample(
    weight: Tensor, label: Tensor, num_sample: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Some of the classes of a layer: those that occur, and others at random.

    Args:
        weight: shape ``(classes, features)``.
        label: the class of each sample of the batch, an integer tensor of one dimension.
        num_sample: how many classes to choose, at least as many as occur in `label`.

    Returns:
        The position of each label among the chosen classes; the chosen classes in order; their rows
        of `weight`, through which gradients flow.

    Raises:
        RuntimeError: `num_sample` is not from 1 to the number of classes.

    Example:
        >>> import oneflow as flow
        >>> weight, label = flow.ones(10, 4), flow.tensor([7, 3, 3])
        >>> mapped, chosen, rows = flow.distributed_partial_fc_sample(weight, label, 5)
        >>> chosen[mapped].tolist(), rows.shape
        ([7, 3, 3], oneflow.Size([5, 4]))
    """
    classes = weight.shape[0]
    if not 0 < num_sample <= classes:
        raise RuntimeError(
            f"distributed_partial_fc_sample(): `num_sample` is {num_sample}, and there are "
            f"{classes} classes"
        )
    # Random numbers are below 1, so that classes that occur come first.
    rank = index_fill(rand_like(weight.detach()[:, 0].float()), 0, label.long(), 2.0)
    sampled = sort(topk(rank, num_sample)[1])[0]
    return searchsorted(sampled, label), sampled, index_select(weight, 0, sampled)
