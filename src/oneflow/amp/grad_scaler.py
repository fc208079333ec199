"""Gradient scaling: keep gradients in half precision from vanishing."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from oneflow.amp.optimizer_stage import _refresh_per_optimizer_state
from oneflow.base.device import CPU, Device
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.elementwise.clamp import where
from oneflow.optim.gradient_clipping import by_place
from oneflow.optim.optimizer import MAX_RESULTS, Optimizer
from oneflow.optim.skipped_steps import may_step_unless, step_unless
from oneflow.primitives.operators.unscale import unscale
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import to_place, value_from_numpy
from oneflow.tensor.views import unwrap, write


def _accept_device(init: Callable) -> Callable:
    """Decorator: PyTorch's name of a device, first or as `device=`, is accepted and left out."""

    @functools.wraps(init)
    def accept(self: Any, *args: Any, device: Any = None, **kwargs: Any) -> None:
        arguments = args[1:] if args and isinstance(args[0], str) else args
        init(self, *arguments, **kwargs)

    return accept


class StaticGradScaler:
    """Multiply the loss by a fixed number, and divide the gradients by it before each step.

    Args:
        scale_factor: the number.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer, scaler = flow.optim.SGD([w], lr=0.5), flow.amp.StaticGradScaler(1024.0)
        >>> scaler.scale((w * w).sum()).backward()
        >>> scaler.step(optimizer)
        >>> w.item()
        0.0
    """

    def __init__(self, scale_factor: float) -> None:
        if scale_factor <= 0:
            raise ValueError(f"`scale_factor` must be positive, got {scale_factor}")
        self._first_scale = float(scale_factor)
        self._scale: Tensor | None = None
        self._found_inf: dict[Optimizer, Tensor] = {}

    def tensors(self, device: Device) -> dict[str, Tensor]:
        """The tensors that change from step to step, by attribute name, on `device`."""
        if self._scale is None:
            self._scale = _number(self._first_scale, np.float32, device)
        return {"_scale": self._scale}

    def _scale_on(self, device: Device) -> Tensor:
        return _on(StaticGradScaler.tensors(self, device)["_scale"], device)

    def get_scale(self) -> float:
        """The factor that the loss is multiplied by now."""
        return self._first_scale if self._scale is None else self._scale.item()

    def scale(self, outputs: Any) -> Any:
        """A loss, or several in lists and tuples, multiplied by the scale."""
        if isinstance(outputs, Tensor):
            return outputs * self._scale_on(outputs.device)
        return type(outputs)(self.scale(output) for output in outputs)

    def may_skip(self) -> bool:
        """Return whether steps may be skipped; never with a fixed scale."""
        return False

    def unscale_gradient(self, gradient: Tensor) -> Tensor:
        """A gradient of the scaled loss divided by the scale."""
        return self._unscaled([gradient])[1]

    def _unscaled(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return whether some gradients, all on one device, are not finite; and the quotients."""
        values = list(map(unwrap, gradients))
        scale = unwrap(self._scale_on(values[0].spec.device))
        return tuple(map(wrap, unscale(scale, *values)))

    def unscale_(self, optimizer: Optimizer) -> Tensor | None:
        """Divide the gradients of an optimizer's parameters by the scale, once per step.

        Use it before clipping; `step` does it otherwise.

        Returns:
            Whether a gradient is infinite or not a number, a 0-dim bool tensor; None if there are
            no gradients.

        Raises:
            RuntimeError: it was done since the last `update` already.
        """
        if optimizer in self._found_inf:
            raise RuntimeError("unscale_() has already been called on this optimizer since update")
        grads = [
            parameter.grad
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        if not grads:
            return None
        flag: Any = None
        with no_grad():
            for batch in _batches(by_place(grads)):
                bad, *unscaled = self._unscaled(batch)
                for grad, quotient in zip(batch, unscaled, strict=True):
                    write(grad, unwrap(quotient))
                flag = bad if flag is None else flag.logical_or(_on(bad, flag.device))
        self._found_inf[optimizer] = flag
        return flag

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Divide the gradients by the scale, if that is still to do, and step the optimizer."""
        if optimizer not in self._found_inf:
            self.unscale_(optimizer)
        return self._step(optimizer, args, kwargs)

    def _step(self, optimizer: Optimizer, args: tuple, kwargs: dict[str, Any]) -> Any:
        self._found_inf.pop(optimizer, None)
        return optimizer.step(*args, **kwargs)

    def update(self) -> None:
        """Get ready for the next step; the scale stays."""
        self.reset()

    def reset(self) -> None:
        """Forget that gradients were unscaled."""
        self._found_inf.clear()

    def state_dict(self) -> dict[str, Any]:
        """The scale."""
        return {"scale": self.get_scale()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`."""
        self._first_scale, self._scale = float(state_dict["scale"]), None


class GradScaler(StaticGradScaler):
    """Gradient scaling with a scale that adapts.

    Steps whose gradients are infinite or not a number are skipped and shrink the scale; it grows
    again after a number of good steps.

    Args:
        init_scale: the first scale. PyTorch's `device`, a string, may stand before it, and as
            `device=`; it changes nothing: the scale is where the gradients are.
        growth_factor: the factor by which it grows.
        backoff_factor: the factor by which it shrinks.
        growth_interval: how many good steps in a row let it grow.
        enabled: False makes all of this do nothing but step.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer, scaler = flow.optim.SGD([w], lr=0.5), flow.amp.GradScaler(init_scale=1e38)
        >>> scaler.scale((w * w * 10).sum()).backward()
        >>> scaler.step(optimizer)  # the gradient overflows
        >>> scaler.update()
        >>> w.item(), scaler.get_scale() < 1e38
        (1.0, True)
    """

    @_accept_device
    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(init_scale if enabled else 1.0)
        if growth_factor <= 1.0:
            raise ValueError(f"`growth_factor` must be more than 1, got {growth_factor}")
        if not 0.0 < backoff_factor < 1.0:
            raise ValueError(f"`backoff_factor` must be between 0 and 1, got {backoff_factor}")
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.growth_interval = growth_interval
        self._enabled = enabled
        self._stepped: set[Optimizer] = set()
        self._first_count = 0
        self._good_steps: Tensor | None = None

    def is_enabled(self) -> bool:
        """Return whether gradients are scaled at all."""
        return self._enabled

    def may_skip(self) -> bool:
        """Return whether steps may be skipped: if it is enabled."""
        return self._enabled

    def tensors(self, device: Device) -> dict[str, Tensor]:
        """The tensors that change from step to step, by attribute name, on `device`."""
        tensors = super().tensors(device)
        if self._good_steps is None:
            self._good_steps = _number(self._first_count, np.int64, tensors["_scale"].device)
        return {**tensors, "_good_steps": self._good_steps}

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Divide the gradients by the scale, if that is still to do, and step the optimizer.

        The step is skipped if a gradient is infinite or not a number.

        Raises:
            RuntimeError: it was called since the last `update` already: gradients that have come
                since then would stay scaled.
        """
        if optimizer in self._stepped:
            raise RuntimeError("step() has already been called since the last update()")
        result = super().step(optimizer, *args, **kwargs)
        if self._enabled:
            self._stepped.add(optimizer)
        return result

    def reset(self) -> None:
        """Forget that gradients were unscaled, and optimizers stepped."""
        super().reset()
        self._stepped.clear()

    def _step(self, optimizer: Optimizer, args: tuple, kwargs: dict[str, Any]) -> Any:
        flag = self._found_inf.get(optimizer)
        if not self._enabled or flag is None:
            return optimizer.step(*args, **kwargs)
        if not (args or kwargs) and may_step_unless(optimizer):
            return step_unless(flag, optimizer)
        return None if flag.item() else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale to whether the last step was skipped.

        Args:
            new_scale: take this scale instead.
        """
        flags = list(self._found_inf.values())
        self.reset()
        if new_scale is not None:
            self._first_scale, self._scale = float(new_scale), None
        elif self._enabled and flags:
            self._update_scale(flags)

    def _update_scale(self, infinite_flags: list[Tensor]) -> None:
        """Nothing here reads a value, so that a graph can record it."""
        scale, good = self.tensors(infinite_flags[0].device).values()
        bad = _on(infinite_flags[0], scale.device)
        for flag in infinite_flags[1:]:
            bad = bad.logical_or(_on(flag, bad.device))
        with no_grad():
            count = good + 1
            is_due = count >= self.growth_interval
            larger = where(is_due, scale * self.growth_factor, scale)
            new_scale = where(bad, scale * self.backoff_factor, larger)
            new_count = where(bad.logical_or(is_due), good * 0, count)
            write(scale, unwrap(new_scale))
            write(good, unwrap(new_count))

    def _state_in_pytorch(self) -> dict[str, Any]:
        """All attributes as PyTorch's class has them.

        Raises:
            RuntimeError: gradients are unscaled, and `update` is still to be called.
        """
        if self._found_inf or self._stepped:
            raise RuntimeError(
                "a GradScaler is saved at the beginning of a step, or after `update`, not between "
                "`unscale_` or `step` and `update`"
            )
        state = self.state_dict()
        return {
            "_device": "cpu" if self._scale is None else self._scale.device.type,
            "_enabled": self._enabled,
            "_init_scale": state["scale"],
            "_scale": None,
            "_growth_factor": self.growth_factor,
            "_backoff_factor": self.backoff_factor,
            "_growth_interval": self.growth_interval,
            "_init_growth_tracker": state["_growth_tracker"],
            "_growth_tracker": None,
            "_per_optimizer_states": defaultdict(_refresh_per_optimizer_state),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy, or of a whole scaler in a file of PyTorch."""
        if "_device" not in state:
            vars(self).update(state)
            return
        # One that is not enabled has no more than the mark in PyTorch.
        GradScaler.__init__(
            self,
            state.get("_init_scale", 1.0),
            state.get("_growth_factor", 2.0),
            state.get("_backoff_factor", 0.5),
            state.get("_growth_interval", 2000),
            state["_enabled"],
        )
        self._first_count = state.get("_init_growth_tracker", 0)

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self.growth_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self.backoff_factor

    def get_growth_interval(self) -> int:
        """The number of good steps in a row after which the scale grows."""
        return self.growth_interval

    def set_growth_factor(self, new_factor: float) -> None:
        """Let the scale grow by another factor."""
        self.growth_factor = new_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Let the scale shrink by another factor."""
        self.backoff_factor = new_factor

    def set_growth_interval(self, new_interval: int) -> None:
        """Let the scale grow after another number of good steps in a row."""
        self.growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale, the settings, and the number of good steps since it last changed."""
        good = self._first_count if self._good_steps is None else self._good_steps.item()
        return {
            "scale": self.get_scale(),
            "growth_factor": self.growth_factor,
            "backoff_factor": self.backoff_factor,
            "growth_interval": self.growth_interval,
            "_growth_tracker": good,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`, one of PyTorch's included."""
        super().load_state_dict(state_dict)
        self.growth_factor = state_dict["growth_factor"]
        self.backoff_factor = state_dict["backoff_factor"]
        self.growth_interval = state_dict["growth_interval"]
        self._first_count, self._good_steps = int(state_dict["_growth_tracker"]), None


def _batches(groups: list[list[Tensor]]) -> Iterator[list[Tensor]]:
    """Parts of the groups, each for one instruction."""
    for group in groups:
        for start in range(0, len(group), MAX_RESULTS):
            yield group[start : start + MAX_RESULTS]


def _number(value: float, dtype: Any, device: Device = CPU) -> Tensor:
    return wrap(value_from_numpy(np.asarray(value, dtype), device))


def _on(tensor: Tensor, device: Any) -> Tensor:
    """A tensor on another device or placement; itself if it is there."""
    value = unwrap(tensor)
    moved = to_place(value, device)
    return tensor if moved is value else wrap(moved)
