"""``torch.distributed.algorithms.ddp_comm_hooks.default_hooks``: means, also in half precision.

Each function takes a process group, None being that of all processes, and a `GradBucket`, and
returns a future of the means. Wrappers return functions that send half precision by another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import Tensor, distributed
from oneflow.distributed.future import Future
from oneflow.distributed.grad_bucket import GradBucket
from oneflow.distributed.groups import ProcessGroup

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def mean_of(group: ProcessGroup | None, tensor: Tensor) -> Future[Tensor]:
    """Replace a tensor by its mean over the processes; return the future of it."""
    tensor.div_(distributed.get_world_size(group))
    work = distributed.all_reduce(tensor, group=group, async_op=True)
    if work is None:
        raise RuntimeError("this process is not in the group that exchanges the gradients")
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Return the mean of the gradients, as they are exchanged without a hook.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> ddp_comm_hooks.default_hooks.allreduce_hook(None, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """
    return mean_of(process_group, bucket.buffer())


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Return the mean of the gradients, which are sent as float16.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> bucket = GradBucket(0, flow.tensor([1 / 3]), [flow.zeros(1)], is_last=True)
        >>> ddp_comm_hooks.default_hooks.fp16_compress_hook(None, bucket).wait()
        tensor([0.3333], dtype=oneflow.float32)
    """
    return _compressed(flow.float16, allreduce_hook, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Return the mean of the gradients, which are sent as bfloat16.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> bucket = GradBucket(0, flow.tensor([1 / 3]), [flow.zeros(1)], is_last=True)
        >>> ddp_comm_hooks.default_hooks.bf16_compress_hook(None, bucket).wait()
        tensor([0.3340], dtype=oneflow.float32)
    """
    return _compressed(flow.bfloat16, allreduce_hook, process_group, bucket)


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Return a function that exchanges the gradients by `hook` as float16.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> hooks = ddp_comm_hooks.default_hooks
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> hooks.fp16_compress_wrapper(hooks.allreduce_hook)(None, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """

    def fp16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _compressed(flow.float16, hook, hook_state, bucket)

    return fp16_compress_wrapper_hook


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Return a function that exchanges the gradients by `hook` as bfloat16.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> hooks = ddp_comm_hooks.default_hooks
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> hooks.bf16_compress_wrapper(hooks.allreduce_hook)(None, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """

    def bf16_compress_wrapper_hook(hook_state: Any, bucket: GradBucket) -> Future[Tensor]:
        return _compressed(flow.bfloat16, hook, hook_state, bucket)

    return bf16_compress_wrapper_hook


def _compressed(
    dtype: flow.dtype, hook: Hook, hook_state: Any, bucket: GradBucket
) -> Future[Tensor]:
    """Return what a function makes of the gradients in half precision, in their own precision."""
    buffer_dtype = bucket.buffer().dtype
    bucket.set_buffer(bucket.buffer().to(dtype))
    return hook(hook_state, bucket).then(lambda future: future.value().to(buffer_dtype))


__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]
