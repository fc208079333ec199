"""`Optimizer`: transformations of gradients, in the form of Optax, as optimizers of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax

from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import zeros_like
from oneflow.jax.arrays import is_key
from oneflow.jax.operator import call
from oneflow.optim.closure import evaluate_closure
from oneflow.optim.groups import CLIPPING, as_groups
from oneflow.optim.optimizer import Optimizer as BaseOptimizer
from oneflow.tensor.tensor import Tensor


class Optimizer(BaseOptimizer):
    """An optimizer of Optax, or of any library with such transformations of gradients.

    Each step is one operator, which JAX traces once. Schedules and learning rates belong to the
    transformation.

    Args:
        parameters: tensors, or groups of them; the transformation sees a list of arrays. Or names
            with tensors, such as ``model.named_parameters()``: it sees a dict, so that masks and
            labels go by names.
        transformation: has functions `init` and `update`, as `optax.GradientTransformation` has.

    Raises:
        TypeError: `transformation` is none.
        ValueError: a group has options, which nothing here reads; or (in `step`) the state that was
            loaded is that of another transformation.

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
        if isinstance(transformation, type) or not (
            hasattr(transformation, "init") and hasattr(transformation, "update")
        ):
            name = getattr(transformation, "__name__", type(transformation).__name__)
            raise TypeError(
                "`transformation` needs functions `init` and `update`, as `optax.sgd(0.1)` has; "
                f"got {name}"
            )
        groups = as_groups(parameters.items() if isinstance(parameters, Mapping) else parameters)
        self._names: list[str] = []
        super().__init__(groups, {})
        self._transformation = transformation
        self._state_structure: Any = None
        self._key_impls: list[Any] = []

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add tensors, before the first step."""
        unread = [name for name in param_group if name not in ("params", *CLIPPING)]
        if unread:
            raise ValueError(
                f"options {unread} of a parameter group are read by nothing: the transformation "
                "knows its own, and `optax.multi_transform` differs between parameters"
            )
        params = param_group["params"]
        entries = [params] if isinstance(params, Tensor) else [*params]
        self._names += [entry[0] for entry in entries if isinstance(entry, tuple)]
        super().add_param_group({**param_group, "params": entries})

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
        if self._state_structure is None:
            self._prepare_state(parameters, state_of_first)
        state = list(state_of_first.values())
        values, state = call(self._transformed, gradients, state, parameters)
        state_of_first.update(zip(state_of_first, state, strict=True))
        for parameter, value in zip(parameters, values, strict=True):
            parameter.copy_(value)
        return loss

    def _prepare_state(self, parameters: list[Tensor], state: dict[str, Any]) -> None:
        """Make the first state, unless one was loaded."""
        initial = call(self._initial, parameters)
        if not state:
            state.update({str(index): leaf for index, leaf in enumerate(initial)})
        forms, loaded = [[*map(_form, leaves)] for leaves in (initial, state.values())]
        if forms != loaded:
            self._state_structure = None
            raise ValueError(
                f"the state that was loaded, {loaded}, is that of another transformation or of "
                f"other parameters; the state here is {forms}"
            )

    def _tree(self, arrays: list) -> Any:
        """Arrays of parameters or gradients as the transformation sees them."""
        return dict(zip(self._names, arrays, strict=True)) if self._names else arrays

    def _initial(self, parameters: list) -> list:
        state = self._transformation.init(self._tree(parameters))
        leaves, self._state_structure = jax.tree.flatten(state)
        self._key_impls = [jax.random.key_impl(leaf) if is_key(leaf) else None for leaf in leaves]
        return leaves

    def _transformed(self, gradients: list, state: list, parameters: list) -> tuple[list, list]:
        # Tensors have the words of keys.
        leaves = [
            leaf if impl is None else jax.random.wrap_key_data(leaf, impl=impl)
            for leaf, impl in zip(state, self._key_impls, strict=True)
        ]
        tree = jax.tree.unflatten(self._state_structure, leaves)
        updates, tree = self._transformation.update(
            self._tree(gradients), tree, self._tree(parameters)
        )
        updates = [updates[name] for name in self._names] if self._names else updates
        values = [(p + u).astype(p.dtype) for p, u in zip(parameters, updates, strict=True)]
        return values, jax.tree.leaves(tree)


def _form(state: Any) -> tuple:
    return tuple(state.shape), str(state.dtype)
