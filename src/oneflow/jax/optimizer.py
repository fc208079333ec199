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
from oneflow.optim.groups import (
    CLIPPING,
    as_groups,
    restore_on_failure,
    states_of_parameters,
)
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
        ValueError: a group has options, which nothing here reads; two parameters have one name, or
            some have names and others none; (in `add_param_group`) a step was made before, or (in
            `load_state_dict`) the state is that of another transformation.

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

    _preserves_dtypes = True  # the transformation decides

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
        self._transformation = transformation
        # Forms of the first state, once it is known.
        self._state_specs: dict[str, tuple] | None = None
        self._state_structure: Any = None
        self._key_impls: list[Any] = []
        super().__init__(groups, {})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add tensors, before the first step."""
        unused = [name for name in param_group if name not in ("params", *CLIPPING)]
        if unused:
            raise ValueError(
                f"options {unused} of a parameter group are read by nothing: the transformation "
                "knows its own, and `optax.multi_transform` differs between parameters"
            )
        if self._state_specs is not None:
            raise ValueError(
                "a parameter group comes after the state, which is for the parameters before it; "
                "add all groups before the first step and before a state is loaded"
            )
        params = param_group["params"]
        if not isinstance(params, Tensor | set):
            params = [*params]
        names = self._names_with(params)
        super().add_param_group({**param_group, "params": params})
        self._names = names

    def _names_with(self, params: Any) -> list[str]:
        """The names of all parameters, also of a new group; none if parameters have no names."""
        entries = params if isinstance(params, list) else [params]
        pairs = [entry for entry in entries if isinstance(entry, tuple)]
        has_others = any(group["params"] for group in self.param_groups)
        if len(pairs) not in (0, len(entries)) or (
            has_others and entries and bool(pairs) != bool(self._names)
        ):
            raise ValueError("some parameters have names and others none; give all or none")
        first_names: dict[int, str] = {}  # of tensors, which a group may have more than once
        for name, tensor in pairs:
            first_names.setdefault(id(tensor), name)
        names = [*self._names, *first_names.values()]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(
                f"the transformation tells parameters apart by names, got {repeated} more than once"
            )
        return names

    @no_grad()
    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Transform the gradients, and add what comes of them to the parameters.

        A parameter without a gradient has one of zeros.
        """
        loss = evaluate_closure(closure)
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        gradients = [zeros_like(p) if p.grad is None else p.grad for p in parameters]
        # As a dictionary of tensors it is saved and loaded like any optimizer's state.
        state_of_first = self.state[parameters[0]]
        if self._state_specs is None or len(state_of_first) != len(self._state_specs):
            self._prepare_state()
        state = [state_of_first[str(index)] for index in range(len(state_of_first))]
        values, state = call(self._transformed, gradients, state, parameters)
        state_of_first.update(_by_index(state))
        for parameter, value in zip(parameters, values, strict=True):
            parameter.copy_(value)
        return loss

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`, which is copied; its numbers keep their data types.

        Raises:
            ValueError: the groups differ in number or size from this optimizer's, or the state is
                that of another transformation. The optimizer stays as it was.
        """
        with restore_on_failure(self):
            super().load_state_dict(state_dict)
            if any(states_of_parameters(self.state)):
                self._prepare_state()

    @no_grad()
    def _prepare_state(self) -> None:
        """Make the first state, unless there is one, which is checked.

        Raises:
            ValueError: it is that of another transformation.
        """
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        initial = _by_index(call(self._initial, parameters))
        specs = {name: _spec(leaf) for name, leaf in initial.items()}
        states = [state for state in states_of_parameters(self.state) if state]
        state_of_first = self.state[parameters[0]]
        if not states:
            state_of_first.update(initial)
        present = {name: _spec(leaf) for name, leaf in state_of_first.items()}
        if present != specs or len(states) > 1:
            raise ValueError(
                f"the state that was loaded, {present}, is that of another transformation or of "
                f"other parameters; the state here is {specs}"
            )
        self._state_specs = specs

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


def _by_index(leaves: list[Tensor]) -> dict[str, Tensor]:
    """The leaves of a state by the names that they are saved with."""
    return {str(index): leaf for index, leaf in enumerate(leaves)}


def _spec(leaf: Any) -> tuple:
    """Category and shape, which an entry of a state keeps while it is updated."""
    if not isinstance(leaf, Tensor):
        return (type(leaf).__name__,)
    return leaf.dtype.category.name.lower(), *leaf.shape
