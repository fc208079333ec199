"""Losses of jobs as OneFlow 0.1 named them: `oneflow.losses`."""

from __future__ import annotations

from oneflow.legacy.context import current_run
from oneflow.tensor.tensor import Tensor


def add_loss(loss: Tensor) -> None:
    """Let the optimizer that the settings of the job describe minimise a loss.

    Args:
        loss: a blob. A blob with several elements counts by its mean.

    Raises:
        RuntimeError: called outside the body of a training job, or `FunctionConfig` has no
            learning rate.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> config = flow.FunctionConfig()
        >>> config.train.primary_lr(0.5)
        >>> config.train.model_update_conf({"momentum_conf": {"beta": 0.9}})
        >>> @flow.global_function(config)
        ... def job(x: tp.Numpy.Placeholder((1,))) -> tp.Numpy:
        ...     loss = x * flow.get_variable("w", (1,), initializer=flow.ones_initializer())
        ...     flow.losses.add_loss(loss)
        ...     return loss
        >>> [round(job(np.float32([1]))[0].item(), 3) for _ in range(3)]
        [1.0, 0.5, -0.45]
        >>> flow.clear_default_session()
    """
    run = current_run("flow.losses.add_loss()")
    if run.loss_optimizer is None:
        raise RuntimeError(
            f"job `{run.job_name}` adds a loss and has no learning rate; call "
            "`FunctionConfig.train.primary_lr`, or let an optimizer of oneflow.optimizer minimize "
            "the loss"
        )
    run.loss_optimizer.minimize(loss)
