"""Transforms from all real numbers to the values that satisfy a constraint."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.distributions import constraints
from oneflow.distributions.constraints import Constraint
from oneflow.distributions.transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
    Transform,
    identity_transform,
)
from oneflow.tensor.tensor import Tensor

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Transforms by constraint: what `register` was told, found by the constraint's class.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import constraints, transform_to
        >>> transform_to(constraints.greater_than(1.0))(flow.tensor(0.0))
        tensor(2., dtype=oneflow.float32)
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}

    def register(
        self, constraint: Constraint | type[Constraint], factory: Factory | None = None
    ) -> Any:
        """Register a function from constraints of a class to transforms; also a decorator.

        Raises:
            TypeError: `constraint` is neither a constraint nor a class of them.
        """
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )

        def registered(factory: Factory) -> Factory:
            self._registry[kind] = factory
            return factory

        return registered if factory is None else registered(factory)

    def __call__(self, constraint: Constraint) -> Transform:
        """Return a transform from all real numbers to `constraint`.

        Raises:
            NotImplementedError: none is registered for its class.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


# Bijections, to which densities can be transformed; and any functions, for parameters.
biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(*kinds: Constraint | type[Constraint]) -> Callable[[Factory], Factory]:
    """Register a function for constraints of some classes in both registries."""

    def registered(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return registered


def _is_number(bound: Any, number: int) -> bool:
    """Return True if a bound is this number; a tensor is not read."""
    return not isinstance(bound, Tensor) and bound == number


@_register(constraints.real)
def _to_real(constraint: Constraint) -> Transform:
    return identity_transform


@_register(constraints.positive, constraints.nonnegative)
def _to_greater_than(constraint: Any) -> Transform:
    if _is_number(constraint.lower_bound, 0):
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


@_register(constraints.less_than)
def _to_less_than(constraint: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


@_register(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is_number(low, 0) and _is_number(high, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


@_register(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Constraint) -> Transform:
    return CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _stick_breaking(constraint: Constraint) -> Transform:
    return StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _by_softmax(constraint: Constraint) -> Transform:
    return SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _to_lower_cholesky(constraint: Constraint) -> Transform:
    return LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _to_positive_definite(constraint: Constraint) -> Transform:
    return PositiveDefiniteTransform()


def _of_base(registry: ConstraintRegistry, constraint: Any) -> Transform:
    base = registry(constraint.base_constraint)
    return IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _of_cat(registry: ConstraintRegistry, constraint: Any) -> Transform:
    parts = [registry(part) for part in constraint.cseq]
    return CatTransform(parts, constraint.dim, constraint.lengths)


def _of_stack(registry: ConstraintRegistry, constraint: Any) -> Transform:
    return StackTransform([registry(part) for part in constraint.cseq], constraint.dim)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, functools.partial(_of_base, _registry))
    _registry.register(constraints.cat, functools.partial(_of_cat, _registry))
    _registry.register(constraints.stack, functools.partial(_of_stack, _registry))
