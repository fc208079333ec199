"""`Optimizer`: transformations of gradients, in the form of Optax, as optimizers of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import zeros_like
from oneflow.jax.operator import call
from oneflow.optim.closure import evaluate_closure
from oneflow.optim.optimizer import Optimizer as BaseOptimizer


class Optimizer(BaseOptimizer):
    """An optimizer of Optax, or of any library with such transformations of gradients.

    Each step is one operator, which JAX traces once. Schedules belong to the transformation.

    Args:
        parameters: tensors, all in one group.
        transformation: has functions `init` and `update`, as `optax.GradientTransformation` has.

    Example:
        >>> from typing import NamedTuple
        >>> import jax
        >>> import oneflow as flow
        >>> class Descent(NamedTuple):  # as optax.sgd(0.5)
        ...     def init(self, parameters):
        ...         return ()
        ...     def update(self, gradients, state, parameters):
        ...         return jax.tree.map(lambda each: -0.5 * each, gradients), state
        >>> w = flow.tensor([2.0], requires_grad=True)
        >>> optimizer = flow.jax.Optimizer([w], Descent())
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.], dtype=oneflow.float32, requires_grad=True)
    """

    def __init__(self, parameters: Any, transformation: Any) -> None:
        super().__init__(parameters, {})
        self._transformation = transformation
        self._structure: Any = None

    @no_grad()
    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Transform the gradients, and add what comes of them to the parameters.

        A parameter without a gradient has one of zeros.
        """
        loss = evaluate_closure(closure)
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        gradients = [zeros_like(p) if p.grad is None else p.grad for p in parameters]
        # As a dictionary of tensors it is saved and loaded as that of any optimizer.
        state_of_first = self.state[parameters[0]]
        if self._structure is None:
            leaves, self._structure = jax.tree.flatten(call(self._initial, parameters))
            if len(state_of_first) != len(leaves):
                state_of_first.update({str(index): leaf for index, leaf in enumerate(leaves)})
        state = jax.tree.unflatten(self._structure, list(state_of_first.values()))
        values, state = call(self._transformed, gradients, state, parameters)
        state_of_first.update(zip(state_of_first, jax.tree.leaves(state), strict=True))
        for parameter, value in zip(parameters, values, strict=True):
            parameter.copy_(value)
        return loss

    def _initial(self, parameters: list) -> Any:
        return self._transformation.init(parameters)

    def _transformed(self, gradients: list, state: Any, parameters: list) -> tuple[list, Any]:
        updates, state = self._transformation.update(gradients, state, parameters)
        return jax.tree.map(lambda p, u: (p + u).astype(p.dtype), parameters, updates), state
