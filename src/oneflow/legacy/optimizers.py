"""Optimizers of training jobs: `oneflow.optimizer`. They are those of `oneflow.optim`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oneflow.functional.elementwise.clamp import where
from oneflow.legacy.context import current_run
from oneflow.legacy.schedulers import LrScheduler
from oneflow.optim.adam import Adam as AdamOptimizer, AdamW as AdamWOptimizer
from oneflow.optim.gradient_clipping import clip_grad_norm_
from oneflow.optim.lamb import LAMB as LAMBOptimizer
from oneflow.optim.lr_scheduler.functions import LambdaLR
from oneflow.optim.optimizer import Optimizer
from oneflow.optim.rmsprop import RMSprop as RMSpropOptimizer
from oneflow.optim.sgd import SGD as SGDOptimizer, SGDW as SGDWOptimizer
from oneflow.tensor.tensor import Tensor

Names = Sequence[str] | Callable[[], Sequence[str]] | None


class JobOptimizer:
    """An optimizer of a training job.

    Args:
        lr_scheduler: the learning rate of each step.
        options: what the optimizer of `oneflow.optim` takes beside parameters and learning rate.
        grad_clipping: the largest norm of all gradients together, or None.
        variables: names of the variables to update, or a function that returns them; all trainable
            ones of the job by default.
        weight_decay: the decay of the variables chosen by the next two.
        weight_decay_includes: parts of names; only variables with one of them decay.
        weight_decay_excludes: parts of names; variables with one of them do not decay.

    Raises:
        ValueError: there are names to include and to exclude.
    """

    kind: Callable[..., Optimizer]

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        options: Mapping[str, Any],
        grad_clipping: float | None = None,
        variables: Names = None,
        weight_decay: float | None = None,
        weight_decay_includes: Sequence[str] | str | None = None,
        weight_decay_excludes: Sequence[str] | str | None = None,
    ) -> None:
        if weight_decay_includes is not None and weight_decay_excludes is not None:
            raise ValueError("give `weight_decay_includes` or `weight_decay_excludes`, not both")
        self.lr_scheduler, self.options = lr_scheduler, dict(options)
        self.grad_clipping, self.variables = grad_clipping, variables
        self.weight_decay = weight_decay or 0.0
        self.includes = _as_list(weight_decay_includes)
        self.excludes = _as_list(weight_decay_excludes)

    def minimize(self, loss: Tensor | Sequence[Tensor]) -> None:
        """Let the job compute gradients of the loss and update its variables.

        Args:
            loss: a blob or several. A blob with several elements counts by its mean.

        Raises:
            RuntimeError: called outside the body of a training job.
        """
        run = current_run("minimize()")
        if not run.is_training:
            raise RuntimeError(
                f"job `{run.job_name}` minimises a loss; decorate it with "
                '@flow.global_function(type="train")'
            )
        for tensor in [loss] if isinstance(loss, Tensor) else loss:
            run.minimize_calls.append((self, tensor))

    def Variables(self) -> list[str] | None:
        """Return the names of the variables to update; None stands for all of the job's."""
        names = self.variables() if callable(self.variables) else self.variables
        return None if names is None else list(names)

    def create(self, trainable: Mapping[str, Tensor]) -> tuple[Optimizer, LambdaLR]:
        """Return the optimizer of the variables, and the schedule of its learning rate.

        Raises:
            ValueError: the job has no variable of a name, or none at all.
        """
        names = self.Variables()
        if names is not None:
            unknown = sorted(set(names) - trainable.keys())
            if unknown:
                raise ValueError(f"the job has no trainable variables named {', '.join(unknown)}")
            trainable = {name: trainable[name] for name in names}
        if not trainable:
            raise ValueError("the job has no trainable variables to update")
        groups: dict[float, list[Tensor]] = {}
        for name, variable in trainable.items():
            decay = self.weight_decay if self._has_decay(name) else 0.0
            groups.setdefault(decay, []).append(variable)
        optimizer = self.kind(
            [{"params": members, "weight_decay": decay} for decay, members in groups.items()],
            lr=1.0,
            **self.options,
        )
        return optimizer, LambdaLR(optimizer, self.lr_scheduler)

    @property
    def changes_gradients(self) -> bool:
        """True if `change_gradients` does something."""
        return self.grad_clipping is not None

    def change_gradients(self, optimizer: Optimizer) -> None:
        """Clip the gradients of the variables of `optimizer`, if it has options for clipping."""
        if self.grad_clipping is not None:
            variables = [
                variable for group in optimizer.param_groups for variable in group["params"]
            ]
            clip_grad_norm_(variables, self.grad_clipping)

    def _has_decay(self, name: str) -> bool:
        if self.includes is not None:
            return any(part in name for part in self.includes)
        return self.excludes is None or not any(part in name for part in self.excludes)


def _as_list(parts: Sequence[str] | str | None) -> list[str] | None:
    if parts is None:
        return None
    return [parts] if isinstance(parts, str) else list(parts)


class SGD(JobOptimizer):
    """Stochastic gradient descent with momentum.

    The arguments `loss_scale_factor`, `train_step_lbn` and `loss_scale_policy` of each optimizer
    are accepted and change nothing: losses in float32 and bfloat16 need no scale.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        >>> optimizer = flow.optimizer.SGD(schedule, momentum=0)
    """

    kind = SGDOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        super().__init__(lr_scheduler, {"momentum": momentum}, grad_clipping, variables)


class SGDW(JobOptimizer):
    """Stochastic gradient descent with decoupled weight decay (https://arxiv.org/abs/1711.05101).

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        >>> optimizer = flow.optimizer.SGDW(schedule, weight_decay_excludes="bias")
    """

    kind = SGDWOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        weight_decay: float | None = None,
        weight_decay_includes: Sequence[str] | str | None = None,
        weight_decay_excludes: Sequence[str] | str | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        super().__init__(
            lr_scheduler,
            {"momentum": momentum},
            grad_clipping,
            variables,
            weight_decay,
            weight_decay_includes,
            weight_decay_excludes,
        )


class Adam(JobOptimizer):
    """Adam (https://arxiv.org/abs/1412.6980), by default without bias correction.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.001])
        >>> optimizer = flow.optimizer.Adam(schedule, do_bias_correction=True)
    """

    kind = AdamOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        options = {
            "betas": (beta1, beta2),
            "eps": epsilon,
            "do_bias_correction": do_bias_correction,
        }
        super().__init__(lr_scheduler, options, grad_clipping, variables)


class LazyAdam(Adam):
    """Adam; the gradient of an embedding is dense here, so that all of its rows are updated.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.001])
        >>> optimizer = flow.optimizer.LazyAdam(schedule)
    """

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        loss_scale_factor: float | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        super().__init__(
            lr_scheduler, beta1, beta2, epsilon, grad_clipping=grad_clipping, variables=variables
        )


class AdamW(JobOptimizer):
    """Adam with decoupled weight decay (https://arxiv.org/abs/1711.05101).

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.001])
        >>> optimizer = flow.optimizer.AdamW(schedule, weight_decay_includes=["weight"])
    """

    kind = AdamWOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = False,
        loss_scale_factor: float | None = None,
        weight_decay: float | None = None,
        weight_decay_includes: Sequence[str] | str | None = None,
        weight_decay_excludes: Sequence[str] | str | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        options = {
            "betas": (beta1, beta2),
            "eps": epsilon,
            "do_bias_correction": do_bias_correction,
        }
        super().__init__(
            lr_scheduler,
            options,
            grad_clipping,
            variables,
            weight_decay,
            weight_decay_includes,
            weight_decay_excludes,
        )


class LAMB(JobOptimizer):
    """LAMB (https://arxiv.org/abs/1904.00962).

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.001])
        >>> optimizer = flow.optimizer.LAMB(schedule, variables=["dense-weight"])
        >>> optimizer.Variables()
        ['dense-weight']
    """

    kind = LAMBOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        loss_scale_factor: float | None = None,
        weight_decay: float | None = None,
        weight_decay_includes: Sequence[str] | str | None = None,
        weight_decay_excludes: Sequence[str] | str | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        options = {"betas": (beta1, beta2), "eps": epsilon, "do_bias_correction": False}
        super().__init__(
            lr_scheduler,
            options,
            grad_clipping,
            variables,
            weight_decay,
            weight_decay_includes,
            weight_decay_excludes,
        )


class RMSProp(JobOptimizer):
    """RMSProp (Tieleman and Hinton, 2012, lecture 6e).

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.01])
        >>> optimizer = flow.optimizer.RMSProp(schedule, centered=True)
    """

    kind = RMSpropOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        decay_rate: float = 0.99,
        epsilon: float = 1e-8,
        centered: bool = False,
        loss_scale_factor: float | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        options = {"alpha": decay_rate, "eps": epsilon, "centered": centered}
        super().__init__(lr_scheduler, options, grad_clipping, variables)


class LARS(JobOptimizer):
    """Layer-wise adaptive rate scaling (https://arxiv.org/abs/1708.03888).

    Gradient descent with momentum, for which the gradient of each variable, with its decay, is
    multiplied by ``lars_coefficient * |w| / (|g| + weight_decay * |w| + epsilon)``.

    Args:
        lr_scheduler: the learning rate of each step.
        momentum_beta: the momentum.
        epsilon: added to the divisor.
        lars_coefficient: the trust that a variable's size deserves.
        loss_scale_factor: accepted, like the two that end in `lbn` and `policy`.
        weight_decay: the same as in `AdamW`, like the two that follow.
        weight_decay_includes: parts of names that decay.
        weight_decay_excludes: parts of names that do not.
        grad_clipping: the largest norm of all gradients together.
        train_step_lbn: accepted.
        loss_scale_policy: accepted.
        variables: names of the variables to update.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        >>> optimizer = flow.optimizer.LARS(schedule, lars_coefficient=0.001)
    """

    kind = SGDOptimizer

    def __init__(
        self,
        lr_scheduler: LrScheduler,
        momentum_beta: float = 0.9,
        epsilon: float = 1e-9,
        lars_coefficient: float = 0.0001,
        loss_scale_factor: float | None = None,
        weight_decay: float | None = None,
        weight_decay_includes: Sequence[str] | str | None = None,
        weight_decay_excludes: Sequence[str] | str | None = None,
        grad_clipping: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
        variables: Names = None,
    ) -> None:
        super().__init__(
            lr_scheduler,
            {"momentum": momentum_beta},
            grad_clipping,
            variables,
            weight_decay,
            weight_decay_includes,
            weight_decay_excludes,
        )
        self.epsilon, self.lars_coefficient = epsilon, lars_coefficient

    def create(self, trainable: Mapping[str, Tensor]) -> tuple[Optimizer, LambdaLR]:
        """Return the optimizer, whose decay `change_gradients` adds; see `JobOptimizer.create`."""
        optimizer, schedule = super().create(trainable)
        for group in optimizer.param_groups:
            group["lars_weight_decay"], group["weight_decay"] = group["weight_decay"], 0.0
        return optimizer, schedule

    @property
    def changes_gradients(self) -> bool:
        """True: the gradients are scaled."""
        return True

    def change_gradients(self, optimizer: Optimizer) -> None:
        """Clip gradients, add the decay, and scale the gradient of each variable."""
        super().change_gradients(optimizer)
        for group in optimizer.param_groups:
            decay = group["lars_weight_decay"]
            for variable in group["params"]:
                if variable.grad is None:
                    continue
                size, slope = variable.detach().norm(), variable.grad.norm()
                ratio = self.lars_coefficient * size / (slope + decay * size + self.epsilon)
                ratio = where((size > 0) & (slope > 0), ratio, 1.0)
                variable.grad = ratio * (variable.grad + decay * variable.detach())


class CombinedOptimizer:
    """Several optimizers, each of its own variables.

    Raises:
        ValueError: an optimizer does not say which variables it updates.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        >>> both = flow.optimizer.CombinedOptimizer([
        ...     flow.optimizer.SGD(schedule, variables=["a-weight"]),
        ...     flow.optimizer.Adam(schedule, variables=["b-weight"])])
    """

    def __init__(
        self,
        optimizers: Sequence[JobOptimizer],
        loss_scale_factor: float | None = None,
        train_step_lbn: str | None = None,
        loss_scale_policy: Any = None,
    ) -> None:
        if any(optimizer.variables is None for optimizer in optimizers):
            raise ValueError("every optimizer of a CombinedOptimizer needs its `variables`")
        self.optimizers = list(optimizers)

    def Variables(self) -> list[str]:
        """Return the names of all variables to update."""
        return [name for optimizer in self.optimizers for name in optimizer.Variables() or ()]

    def minimize(self, loss: Tensor | Sequence[Tensor]) -> None:
        """Let every optimizer update its variables; see `JobOptimizer.minimize`."""
        for optimizer in self.optimizers:
            optimizer.minimize(loss)
