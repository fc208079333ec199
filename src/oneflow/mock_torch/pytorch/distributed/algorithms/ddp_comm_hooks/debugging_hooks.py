"""``ddp_comm_hooks.debugging_hooks``: a function that sends nothing, to see what sending costs."""

from __future__ import annotations

from typing import Any

from oneflow import Tensor
from oneflow.distributed.future import Future
from oneflow.distributed.grad_bucket import GradBucket


def noop_hook(_: Any, bucket: GradBucket) -> Future[Tensor]:
    """Return the gradients of this process: nothing is sent, and copies of the model drift apart.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> ddp_comm_hooks.debugging_hooks.noop_hook(None, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """
    future: Future[Tensor] = Future()
    future.set_result(bucket.buffer())
    return future


__all__ = ["noop_hook"]
