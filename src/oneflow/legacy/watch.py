"""Looking at blobs while a job runs: `oneflow.watch` and `oneflow.watch_diff`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.legacy.context import current_run
from oneflow.tensor.tensor import Tensor

Handler = Callable[[np.ndarray], Any] | str | None


def watch(blob_watched: Tensor, handler_or_prompt: Handler = None) -> None:
    """Give the value of a blob to a function after every call of the job.

    Args:
        blob_watched: a blob of the job.
        handler_or_prompt: the function, which gets a NumPy array; or a text to print before it.

    Raises:
        RuntimeError: called outside the body of a job.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     y = x + 1
        ...     flow.watch(y, lambda value: print("y is", value))
        ...     return y * 2
        >>> job(np.float32([1, 2]))
        y is [2. 3.]
        array([4., 6.], dtype=float32)
        >>> flow.clear_default_session()
    """
    current_run("flow.watch()").watched.append((blob_watched, _handler(handler_or_prompt)))


def watch_diff(blob_watched: Tensor, handler_or_prompt: Handler = None) -> None:
    """Give the gradient of the loss with respect to a blob to a function, as `watch` its value.

    Raises:
        RuntimeError: called outside the body of a training job.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> def show(gradient: tp.Numpy) -> None:
        ...     print(gradient)
        >>> @flow.global_function(type="train")
        ... def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     loss = x * flow.get_variable("scale", (2,), initializer=flow.ones_initializer())
        ...     flow.watch_diff(loss, show)
        ...     schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        ...     flow.optimizer.SGD(schedule, momentum=0).minimize(loss)
        ...     return loss
        >>> job(np.float32([1, 2]))
        [0.5 0.5]
        array([1., 2.], dtype=float32)
        >>> flow.clear_default_session()
    """
    run = current_run("flow.watch_diff()")
    if not run.is_training:
        raise RuntimeError(f"job `{run.job_name}` does not train; its blobs have no gradients")
    run.tracked_gradients.append((blob_watched, _handler(handler_or_prompt)))


def _handler(handler_or_prompt: Handler) -> Callable[[np.ndarray], Any]:
    if callable(handler_or_prompt):
        return handler_or_prompt
    prompt = handler_or_prompt or ""
    return lambda value: print(prompt, value)  # noqa: T201
