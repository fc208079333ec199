"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from oneflow.base.limits import finfo
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import zeros_like
from oneflow.optim.closure import evaluate_closure
from oneflow.optim.groups import ParamsT, check_range, with_scaled_lr
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.tensor.tensor import Tensor


class Adafactor(Optimizer):
    """Adafactor: of the squared gradients of a matrix, only means of rows and columns are kept.

    Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018), as
    PyTorch has it: `lr` bounds the step size, which is relative to the parameters.

    Args:
        params: real tensors or parameter groups.
        lr: the largest step size; that of step ``t`` is at most ``1 / sqrt(t)``.
        beta2_decay: the running means forget ``t ** beta2_decay`` in step ``t``; not positive.
        eps: smallest divisor, by default the epsilon of the parameter's dtype; and the smallest
            size of parameters that a step is relative to.
        d: directions with a root mean square above it are shortened; at least 1.
        weight_decay: parameters are multiplied by ``1 - lr * weight_decay`` in each step.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.ones(2, 3, requires_grad=True)
        >>> optimizer = flow.optim.Adafactor([w], lr=0.1, weight_decay=0.0)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> optimizer.state[w]["row_var"].shape, optimizer.state[w]["col_var"].shape
        (oneflow.Size([2, 1]), oneflow.Size([1, 3]))
        >>> round(w[0, 0].item(), 4)
        0.9
    """

    _has_number_counts: ClassVar[bool] = True

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("-beta2_decay", -beta2_decay, 0.0)
        check_range("eps[0]", 0.0 if eps[0] is None else eps[0], 0.0)
        check_range("eps[1]", eps[1], 0.0)
        check_range("d", d, 1.0)
        check_range("weight_decay", weight_decay, 0.0)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    # States have other shapes than parameters, and matrices others than vectors: so the step is
    # written with tensors.
    @no_grad()
    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: computes the loss again, with gradients, and returns it.

        Returns:
            What `closure` returned, else None.

        Raises:
            RuntimeError: a parameter is complex.
        """
        loss = evaluate_closure(closure)
        for group in self.param_groups:
            options = with_scaled_lr(group)
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None:
                    self._update_parameter(
                        parameter, -gradient if options["maximize"] else gradient, options
                    )
        return loss

    def _update_parameter(
        self, parameter: Tensor, gradient: Tensor, options: dict[str, Any]
    ) -> None:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state = self.state[parameter]
        step = state["step"] = state.get("step", 0) + 1
        smallest, smallest_size = options["eps"]
        if smallest is None:
            smallest = finfo(parameter.dtype).eps
        size = _root_mean_square(parameter).clamp(min=smallest_size)
        step_size = size * min(options["lr"], step**-0.5)
        variance = _variance(gradient, state, step ** options["beta2_decay"], smallest)
        direction = gradient * variance.clamp(min=smallest**2).rsqrt()
        ratio = (_root_mean_square(direction) / options["d"]).clamp(min=1.0)
        decayed = parameter * (1 - options["lr"] * options["weight_decay"])
        parameter.copy_(decayed - direction * (step_size / ratio))


def _root_mean_square(x: Tensor) -> Tensor:
    return x.square().mean().sqrt()


def _variance(gradient: Tensor, state: dict[str, Any], fresh: float, smallest: float) -> Tensor:
    """The running mean of squared gradients, of matrices from the means of rows and columns."""
    squares = gradient.square()
    if gradient.ndim < 2:
        return _advance_mean(state, "variance", squares, fresh)
    rows = _advance_mean(state, "row_var", squares.mean(-1, keepdim=True), fresh)
    columns = _advance_mean(state, "col_var", squares.mean(-2, keepdim=True), fresh)
    return rows * columns / rows.mean(-2, keepdim=True).clamp(min=smallest)


def _advance_mean(state: dict[str, Any], name: str, new: Tensor, fresh: float) -> Tensor:
    """One step of a running mean in `state`, which begins with zeros."""
    mean = state[name] if name in state else zeros_like(new)
    state[name] = mean + (new - mean) * fresh
    return state[name]
