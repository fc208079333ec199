"""``torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook``: means in small groups.

Source: Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", 2018.
"""

from __future__ import annotations

from oneflow import Tensor
from oneflow.distributed.future import Future
from oneflow.distributed.grad_bucket import GradBucket
from oneflow.distributed.groups import ProcessGroup
from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import (
    noop_hook,
)
from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks.default_hooks import mean_of
from oneflow.mock_torch.pytorch.distributed.distributed_c10d import new_subgroups


class PostLocalSGDState:
    """Options of local SGD after some steps of usual training, and the number of steps so far.

    Args:
        process_group: the processes, by default all.
        subgroup: the processes that exchange gradients later on, by default those of a machine.
        start_localSGD_iter: the number of steps in which all processes do.
        post_local_gradient_allreduce: whether the subgroup exchanges them later on.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks import (
        ...     post_localSGD_hook as local,
        ... )
        >>> state = local.PostLocalSGDState(None, None, start_localSGD_iter=2)
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> local.post_localSGD_hook(state, bucket).wait().tolist(), state.iter
        ([1.0, 1.0], 1)
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Return the mean over all processes, and after some steps over the subgroup alone.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks import (
        ...     post_localSGD_hook as local,
        ... )
        >>> state = local.PostLocalSGDState(None, None, 0, post_local_gradient_allreduce=False)
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> local.post_localSGD_hook(state, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return mean_of(state.process_group, bucket.buffer())
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return mean_of(state.subgroup, bucket.buffer())


__all__ = ["PostLocalSGDState", "post_localSGD_hook"]
