"""`GradBucket`: gradients in one vector, and functions of users that exchange them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.distributed.future import Future
from oneflow.tensor.tensor import Tensor


class GradBucket:
    """The gradients of some parameters in one vector, on their way to the other processes.

    Args:
        index: the number of the bucket in its backward pass, from 0.
        buffer: the gradients, one after the other; 1-dim.
        parameters: the parameters whose gradients these are.
        is_last: whether it is the last bucket.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributed.grad_bucket import GradBucket
        >>> weight, bias = flow.zeros(2, 2), flow.zeros(1)
        >>> bucket = GradBucket(0, flow.arange(5.0), [weight, bias], is_last=True)
        >>> [gradient.tolist() for gradient in bucket.gradients()]
        [[[0.0, 1.0], [2.0, 3.0]], [4.0]]
    """

    def __init__(
        self, index: int, buffer: Tensor, parameters: Sequence[Tensor], is_last: bool
    ) -> None:
        self._index, self._buffer, self._is_last = index, buffer, is_last
        self._parameters = list(parameters)

    def index(self) -> int:
        """Return the number of the bucket in its backward pass, from 0."""
        return self._index

    def buffer(self) -> Tensor:
        """Return the gradients one after the other; writing to it writes to all of them."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another vector in the place of the gradients.

        Raises:
            RuntimeError: it has another number of elements.
        """
        if buffer.numel() != self._buffer.numel():
            raise RuntimeError(
                f"`buffer` has {buffer.numel()} elements, the bucket has {self._buffer.numel()}"
            )
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """Return the gradient of each parameter, as a view of the vector."""
        sizes = [parameter.numel() for parameter in self._parameters]
        parts = self._buffer.split(sizes)
        return [
            part.view(parameter.shape)
            for part, parameter in zip(parts, self._parameters, strict=True)
        ]

    def parameters(self) -> list[Tensor]:
        """Return the parameters whose gradients these are."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Return whether no other bucket of this backward pass follows."""
        return self._is_last


# From the gradients of a process to those that it trains with.
CommHook = Callable[[GradBucket], Future[Tensor]]


def run_comm_hook(
    hook: CommHook, buffers: Sequence[Tensor], parameters: Sequence[Sequence[Tensor]]
) -> list[Tensor]:
    """Return the vectors that a function has exchanged all buckets for.

    It is called for all of them before the first of its futures is waited for.

    Args:
        hook: the function.
        buffers: the gradients of each bucket, 1-dim.
        parameters: the parameters of each bucket.

    Raises:
        TypeError: the function returned no future of one tensor.
        RuntimeError: the tensor has another number of elements than the bucket.
    """
    last = len(buffers) - 1
    futures = [
        hook(GradBucket(index, buffer, bucket_parameters, index == last))
        for index, (buffer, bucket_parameters) in enumerate(zip(buffers, parameters, strict=True))
    ]
    return [_result(future, buffer) for future, buffer in zip(futures, buffers, strict=True)]


def _result(future: Any, buffer: Tensor) -> Tensor:
    if not isinstance(future, Future):
        raise TypeError(
            f"a communication hook must return a Future, got {type(future).__name__}; "
            "`all_reduce(tensor, async_op=True).get_future()` is one"
        )
    result = future.wait()
    if not isinstance(result, Tensor):
        raise TypeError(
            "the future of a communication hook must hold one tensor, got "
            f"{type(result).__name__}; a collective operation's holds a list: `.then(lambda "
            "future: future.value()[0])`"
        )
    if result.numel() != buffer.numel():
        raise RuntimeError(
            f"a communication hook returned {result.numel()} elements for a bucket of "
            f"{buffer.numel()}"
        )
    return result.detach().reshape(-1).to(buffer.dtype)
