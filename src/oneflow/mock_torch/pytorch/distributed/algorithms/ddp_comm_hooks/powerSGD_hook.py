"""``torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook``: gradients sent as small factors.

Source: Vogels et al., "PowerSGD: Practical Low-Rank Gradient Compression for Distributed
Optimization", 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.distributed.future import Future
from oneflow.distributed.grad_bucket import GradBucket
from oneflow.distributed.groups import ProcessGroup
from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    allreduce_hook,
    mean_of,
)


class PowerSGDState:
    """Options of PowerSGD, and what it remembers from step to step.

    Args:
        process_group: the processes, by default all.
        matrix_approximation_rank: the rank of the matrices that approximate gradients.
        start_powerSGD_iter: the number of steps before the first whose gradients are approximated.
        min_compression_rate: a gradient is approximated where it has more than so many times the
            elements of its factors.
        use_error_feedback: add what an approximation lacks to the gradients of the next step.
        warm_start: begin with the factors of the step before, not with random ones.
        orthogonalization_epsilon: is added to norms that columns are divided by; 0: columns are
            made orthogonal by a QR decomposition.
        random_seed: the seed of random factors, which all processes must have.
        compression_stats_logging_frequency: accepted: `compression_stats` tells.
        batch_tensors_with_same_shape: accepted: gradients of one shape are compiled together.

    Raises:
        ValueError: approximations would begin before the third step, though they need what steps
            before have left.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> hooks = ddp_comm_hooks.powerSGD_hook
        >>> state = hooks.PowerSGDState(None, start_powerSGD_iter=2)
        >>> weight = flow.zeros(8, 8)
        >>> for _ in range(3):
        ...     bucket = GradBucket(0, flow.ones(64), [weight], is_last=True)
        ...     mean = hooks.powerSGD_hook(state, bucket).wait()
        >>> bool(flow.allclose(mean, flow.ones(64)))
        True
        >>> state.compression_stats()
        (4.0, 64, 16)
    """

    def __init__(
        self,
        process_group: ProcessGroup | None,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.generator = flow.Generator().manual_seed(random_seed)
        # Errors and factors by the number of the bucket.
        self.error_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[int, list[Tensor]] = {}
        self.iter = 0
        self.total_numel_before_compression = 0
        self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "process_group": None}

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a step at its last bucket."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """Return how many elements there were for one that was sent, and both numbers."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after else 0, before, after)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Return means whose matrices are products of two thin ones, which are sent in their place.

    Vectors, and matrices that are not much larger than their factors, are sent as they are. The
    other dimensions of a gradient than the first count as one.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> hooks = ddp_comm_hooks.powerSGD_hook
        >>> state = hooks.PowerSGDState(None)
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> hooks.powerSGD_hook(state, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    vector = _with_error(state, bucket.index(), bucket.buffer())
    bucket.set_buffer(vector)
    gradients = bucket.gradients()
    places = [
        place for place, gradient in enumerate(gradients) if _should_compress(state, gradient)
    ]
    matrices = [gradients[place].flatten(1) for place in places]
    means = dict(zip(places, _approximate(state, bucket.index(), matrices), strict=True))
    others = {place: gradients[place] for place in range(len(gradients)) if place not in means}
    means.update(zip(others, _means_of(state.process_group, list(others.values())), strict=True))
    sent = sum(map(Tensor.numel, others.values()))
    state.total_numel_before_compression += sent
    state.total_numel_after_compression += sent
    mean = flow.cat([means[place].flatten() for place in range(len(gradients))])
    return _finish(state, bucket, vector, mean)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:
    """Return the mean as the product of two thin matrices for a whole bucket; see `powerSGD_hook`.

    The gradients of a bucket are one square matrix, with zeros at its end. This is quicker, and its
    means are less exact.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms import ddp_comm_hooks
        >>> hooks = ddp_comm_hooks.powerSGD_hook
        >>> state = hooks.PowerSGDState(None)
        >>> bucket = GradBucket(0, flow.ones(2), [flow.zeros(2)], is_last=True)
        >>> hooks.batched_powerSGD_hook(state, bucket).wait()
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    vector = _with_error(state, bucket.index(), bucket.buffer())
    size = math.isqrt(vector.numel() - 1) + 1
    padding = vector.new_zeros(size * size - vector.numel())
    matrix = flow.cat([vector, padding]).view(size, size)
    (mean,) = _approximate(state, bucket.index(), [matrix])
    return _finish(state, bucket, vector, mean.flatten()[: vector.numel()])


def _with_error(state: PowerSGDState, index: int, buffer: Tensor) -> Tensor:
    """Return the gradients of this process with what the last approximation lacked."""
    return buffer + state.error_dict[index] if index in state.error_dict else buffer


def _finish(
    state: PowerSGDState, bucket: GradBucket, vector: Tensor, mean: Tensor
) -> Future[Tensor]:
    """Remember what a bucket's approximation lacks, and return the future of its mean."""
    if state.use_error_feedback:
        state.error_dict[bucket.index()] = vector - mean
    state.maybe_increase_iter(bucket)
    future: Future[Tensor] = Future()
    future.set_result(mean)
    return future


def _should_compress(state: PowerSGDState, gradient: Tensor) -> bool:
    """Return whether the factors of a gradient are small beside it."""
    if gradient.ndim < 2:
        return False
    rows, columns = gradient.shape[0], gradient.numel() // max(gradient.shape[0], 1)
    rank = min(rows, columns, state.matrix_approximation_rank)
    return (rows + columns) * rank * state.min_compression_rate < rows * columns


def _approximate(state: PowerSGDState, index: int, matrices: Sequence[Tensor]) -> list[Tensor]:
    """Return approximations of the means of matrices: products of two factors, which are sent."""
    if not matrices:
        return []
    group = state.process_group
    qs = state.q_memory_dict.get(index) if state.warm_start else None
    if qs is None:
        qs = [_random_factor(state, matrix) for matrix in matrices]
    qs = [_orthogonal(state, q) for q in qs]
    ps = _means_of(group, [matrix @ q for matrix, q in zip(matrices, qs, strict=True)])
    ps = [_orthogonal(state, p) for p in ps]
    qs = _means_of(group, [matrix.T @ p for matrix, p in zip(matrices, ps, strict=True)])
    if state.warm_start:
        state.q_memory_dict[index] = qs
    state.total_numel_before_compression += sum(map(Tensor.numel, matrices))
    state.total_numel_after_compression += sum(map(Tensor.numel, [*ps, *qs]))
    return [p @ q.T for p, q in zip(ps, qs, strict=True)]


def _means_of(group: ProcessGroup | None, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the means of tensors over the processes; they are sent as one vector."""
    if not tensors:
        return []
    sent = mean_of(group, flow.cat([tensor.flatten() for tensor in tensors])).wait()
    parts = sent.split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]


def _random_factor(state: PowerSGDState, matrix: Tensor) -> Tensor:
    rows, columns = matrix.shape
    rank = min(rows, columns, state.matrix_approximation_rank)
    factor = flow.randn(columns, rank, generator=state.generator, device=matrix.device)
    return factor.to(matrix.dtype)


def _orthogonal(state: PowerSGDState, factor: Tensor) -> Tensor:
    """Return a factor whose columns are orthogonal, and of length 1 without an epsilon."""
    if not state.orthogonalization_epsilon:
        return flow.linalg.qr(factor.float())[0].to(factor.dtype)
    columns: list[Tensor] = []
    for column in factor.unbind(1):
        for earlier in columns:
            column = column - (column @ earlier) * earlier
        columns.append(column / (column.norm() + state.orthogonalization_epsilon))
    return flow.stack(columns, 1)


__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]
