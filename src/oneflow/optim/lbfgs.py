"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from oneflow.differentiation.grad_mode import enable_grad, no_grad
from oneflow.optim.groups import ParamsT, check_range, with_scaled_lr
from oneflow.optim.line_search import strong_wolfe
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.shape import concat, reshape, slice_
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write

# A pair with less curvature than this says nothing about the Hessian.
_MIN_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS: a quasi-Newton method that remembers the last steps. It needs a closure.

    Args:
        params: tensors; one parameter group only.
        lr: length of the step along the direction.
        max_iter: iterations per `step`.
        max_eval: evaluations of the closure per `step`, default ``max_iter * 5 // 4``.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when parameters and loss change by less.
        history_size: number of steps remembered.
        line_search_fn: ``"strong_wolfe"`` or None.
        contiguous_params: accepted; the parameters are handled as one vector anyway.

    Raises:
        ValueError: more than one parameter group, or an unknown line search.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = flow.optim.LBFGS([w], lr=1.0, line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - flow.tensor([1.0, 2.0])) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> loss = optimizer.step(closure)
        >>> [round(number, 3) for number in w.tolist()]
        [1.0, 2.0]
    """

    _has_number_counts: ClassVar[bool] = True

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        contiguous_params: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueError(
                f"`line_search_fn` must be None or 'strong_wolfe', got {line_search_fn!r}"
            )
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Minimize the loss for at most `max_iter` iterations.

        Args:
            closure: clears the gradients, computes the loss and its gradients, and returns it.

        Returns:
            The loss before the step.

        Raises:
            TypeError: there is no closure.
        """
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss again")
        group = self.param_groups[0]
        with no_grad():
            return self._minimize(enable_grad()(closure), group)

    def _minimize(self, closure: Callable, group: dict[str, Any]) -> Any:
        first_loss = closure()
        loss, gradient = float(first_loss), self._gradient()
        state = self.state[group["params"][0]]
        state.setdefault("n_iter", 0)
        func_evals, max_iter = 1, group["max_iter"]
        for iteration in range(1, max_iter + 1):
            if _largest(gradient) <= group["tolerance_grad"]:
                break
            self._set_direction(gradient, state, group)
            state["prev_loss"] = loss
            length = state["t"] = self._first_length(gradient, state, group)
            slope = _dot(gradient, state["d"]).item()
            if slope > -group["tolerance_change"]:
                break
            if iteration == max_iter and group["line_search_fn"] is None:
                # Nobody would read the loss and the gradient there.
                self._place(self._values(), state["d"], length)
                break
            loss, gradient, length, used = self._move(
                closure,
                group,
                state["d"],
                length,
                loss,
                gradient,
                slope,
                group["max_eval"] - func_evals + 1,
            )
            func_evals += used
            state["t"] = length
            if (
                func_evals >= group["max_eval"]
                or _largest(state["d"]) * length <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        state["func_evals"] = state.get("func_evals", 0) + func_evals
        return first_loss

    def _first_length(self, gradient: Tensor, state: dict[str, Any], group: dict) -> float:
        """The length of a step along the direction, before it is searched for."""
        length = with_scaled_lr(group)["lr"]
        if state["n_iter"] == 1:
            length /= max(1.0, gradient.abs().sum().item())
        return length

    def _set_direction(
        self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Store minus the gradient times the inverse Hessian that the history makes.

        The state has PyTorch's names and layout: `old_dirs` are changes of the gradient, `old_stps`
        the steps that led to them, `ro` one over their products.
        """
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
        else:
            change = gradient - state["prev_flat_grad"]
            step = state["d"] * float(state["t"])
            curvature = _dot(change, step).item()
            if curvature > _MIN_CURVATURE:
                latest = {"old_dirs": change, "old_stps": step, "ro": 1 / curvature}
                for name, value in latest.items():
                    state[name] = [*state[name], value][-group["history_size"] :]
                state["H_diag"] = curvature / _dot(change, change).item()
        state["d"] = _two_loops(-gradient, state)
        state["prev_flat_grad"] = gradient

    def _move(
        self,
        closure: Callable,
        group: dict[str, Any],
        direction: Tensor,
        length: float,
        loss: float,
        gradient: Tensor,
        slope: float,
        max_func_evals: int,
    ) -> tuple[float, Tensor, float, int]:
        """Go along `direction`; returns loss, gradient, length, and evaluations used."""
        start = self._values()

        def evaluate(at: float) -> tuple[float, Tensor]:
            self._place(start, direction, at)
            return float(closure()), self._gradient()

        if group["line_search_fn"] == "strong_wolfe":
            result = strong_wolfe(
                evaluate, direction, length, loss, gradient, slope, max_func_evals
            )
            self._place(start, direction, result[2])
            return result
        return *evaluate(length), length, 1

    def _values(self) -> list:
        return [unwrap(parameter) for parameter in self.param_groups[0]["params"]]

    def _place(self, start: list, direction: Tensor, length: float) -> None:
        """Set the parameters to `start` plus `length` times their part of `direction`."""
        offset = 0
        for parameter, value in zip(self.param_groups[0]["params"], start, strict=True):
            spec = value.spec
            part = slice_(unwrap(direction), offset, dims=(0,), sizes=(spec.numel,), steps=(1,))
            offset += spec.numel
            moved = wrap(value) + wrap(reshape(part, shape=spec.shape)) * float(length)
            write(parameter, unwrap(moved).alias())

    def _gradient(self) -> Tensor:
        """The gradients of all parameters as one vector."""
        parts = []
        for parameter in self.param_groups[0]["params"]:
            gradient = parameter.grad
            value = unwrap(parameter * 0 if gradient is None else gradient)
            parts.append(reshape(value, shape=(value.spec.numel,)))
        return wrap(concat(*parts, dim=0))


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum()


def _largest(x: Tensor) -> float:
    return x.abs().max().item()


def _two_loops(q: Tensor, state: dict[str, Any]) -> Tensor:
    """The two-loop recursion: `q` times the inverse Hessian of the remembered pairs."""
    pairs = list(zip(state["old_stps"], state["old_dirs"], map(float, state["ro"]), strict=True))
    weights = []
    for step, change, factor in reversed(pairs):
        weight = _dot(step, q) * factor
        q = q - change * weight
        weights.append(weight)
    q = q * float(state["H_diag"])
    for (step, change, factor), weight in zip(pairs, reversed(weights), strict=True):
        q = q + step * (weight - _dot(change, q) * factor)
    return q
