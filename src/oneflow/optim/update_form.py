"""Everything about the updates of a group of parameters, apart from numbers: it decides the form.

Numbers may change in each step, and nothing is compiled for it; where the form changes, graphs are
recorded anew. Gradients that nothing is added to are no sums with zero: what a step does not need
is not in its program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneflow.optim.groups import CLIPPING
from oneflow.tensor.tensor import Tensor


class UpdateForm:
    """The part of an optimizer that says how the update of a group looks."""

    defaults: dict[str, Any]

    def form(self, group: Mapping[str, Any]) -> tuple[Any, ...]:
        """Everything about a group, apart from numbers, that decides how its step looks."""
        options = [group.get(name) for name in CLIPPING]
        initial_state, attributes = self._initial_state(group), self._attributes(group)
        return (len(group["params"]), *options, *initial_state, *attributes.items())

    def _initial_state(self, group: Any) -> dict[str, float]:
        """Names of the tensors kept per parameter, in the update's order; their first values."""
        raise NotImplementedError(
            f"{type(self).__name__} must define `step`, or `_initial_state` and `_numbers`"
        )

    def _attributes(self, group: Any) -> dict[str, Any]:
        """Constants of the update that decide its form."""
        attributes = {}
        if "maximize" in self.defaults and group["maximize"]:
            attributes["maximize"] = True
        penalty = self._penalty(group)
        if isinstance(penalty, Tensor) or penalty:  # a tensor is not read
            attributes["penalized"] = True
        return attributes

    def _penalty(self, group: Any) -> Any:
        """The factor of the L2 penalty whose gradient is added to a parameter's gradient."""
        return group["weight_decay"]
