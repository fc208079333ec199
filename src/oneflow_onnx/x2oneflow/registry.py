"""The table of operators: by domain, name and the operator set that introduced a version."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

# Facts about a call that an operator's function may ask for by the name of a parameter.
CONTEXT = ("training", "n_outputs", "run_graph", "example_rows", "opset")

# Attributes of old operator sets that told memory planners something.
_IGNORED_ATTRIBUTES = {"consumed_inputs"}


class Evaluation(Enum):
    """The place where an operator is evaluated, and the kind of its operands."""

    FOLDED = auto()
    """On the host if all operands are host values, which keeps arithmetic on shapes concrete."""
    TENSORS = auto()
    """On tensors always: results may be large."""
    ANY = auto()
    """In the place of its operands: its function takes operands of every kind."""
    HOST = auto()
    """On the host always, by ONNX's reference implementation: text, trees, files of images."""


@dataclass(frozen=True)
class Operator:
    """One version of an operator.

    Attributes:
        function: takes the operands by position and the attributes by keyword.
        host: positions of operands that the function takes as NumPy arrays.
        constant: positions of operands that are not trained.
        limits: the most that attributes may be which bound loops or sizes on the host, by name.
    """

    domain: str
    name: str
    since: int
    function: Callable[..., Any]
    host: frozenset[int]
    evaluation: Evaluation
    constant: frozenset[int]
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def context(self) -> frozenset[str]:
        """The names of `CONTEXT` that the function asks for."""
        return frozenset(CONTEXT) & frozenset(_parameters(self.function))

    def check_attributes(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes that the function takes.

        Raises:
            NotImplementedError: it does not know one.
            ValueError: one is beyond its limit.
        """
        for name in self.limits.keys() & attributes.keys():
            _check_limit(f"`{name}` of `{self.name}`", attributes[name], self.limits[name])
        parameters = _parameters(self.function)
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return attributes
        names = {n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY} - set(CONTEXT)
        if unknown := attributes.keys() - names - _IGNORED_ATTRIBUTES:
            raise NotImplementedError(f"attributes {sorted(unknown)} of `{self.name}`")
        return {name: value for name, value in attributes.items() if name in names}


def _check_limit(label: str, value: Any, most: int) -> None:
    numbers = value if isinstance(value, list) else [value]
    if largest := next((number for number in numbers if abs(number) > most), None):
        raise ValueError(f"{label} is {largest}; it must be at most {most}")


@functools.cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of an operator's function, which models call thousands of times."""
    return inspect.signature(function).parameters


_TABLE: dict[tuple[str, str], dict[int, Operator]] = {}


def add_operator(operator: Operator, replace: bool = False) -> None:
    """Put `operator` into the table.

    Raises:
        ValueError: there is one for the same domain, name and version already.
    """
    versions = _TABLE.setdefault((operator.domain, operator.name), {})
    if operator.since in versions and not replace:
        raise ValueError(
            f"the operator `{operator.name}` of domain {operator.domain!r} is registered twice for"
            f" version {operator.since}"
        )
    versions[operator.since] = operator


def operator(
    *names: str,
    since: int = 1,
    domain: str = "",
    host: Collection[int] = (),
    evaluation: Evaluation = Evaluation.FOLDED,
    constant: Collection[int] = (),
    limits: Mapping[str, int] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as operators `names` from operator set `since` on."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            record = Operator(
                domain,
                name,
                since,
                function,
                frozenset(host),
                evaluation,
                frozenset(constant),
                limits or {},
            )
            add_operator(record)
        return function

    return register


def find_operator(domain: str, name: str, opset: int) -> Operator | None:
    """Return the version of an operator that operator set `opset` means, or None."""
    versions = _TABLE.get(("" if domain == "ai.onnx" else domain, name), {})
    reached = [since for since in versions if since <= opset]
    return versions[max(reached)] if reached else None


def operator_names() -> list[tuple[str, str]]:
    """Return domain and name of every operator in the table."""
    return sorted(_TABLE)
