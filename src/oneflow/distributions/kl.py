"""The Kullback-Leibler divergence of two distributions: formulas, found by their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from oneflow.distributions.distribution import Distribution
from oneflow.tensor.tensor import Tensor

Formula = TypeVar("Formula", bound=Callable[..., Tensor])
_KL_FORMULA: dict[tuple[type, type], Callable[..., Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorator of a formula for two classes of distributions.

    Args:
        type_p: class of the first one; its subclasses have the formula, too.
        type_q: class of the second one.

    Raises:
        TypeError: they are no classes.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import Distribution, kl_divergence, register_kl
        >>> class Fixed(Distribution):
        ...     def __init__(self, place):
        ...         super().__init__()
        ...         self.place = place
        >>> @register_kl(Fixed, Fixed)
        ... def fixed_fixed(p, q):
        ...     return flow.tensor(0.0 if p.place == q.place else float("inf"))
        >>> kl_divergence(Fixed(1), Fixed(2))
        tensor(inf, dtype=oneflow.float32)
    """
    for type_ in (type_p, type_q):
        # A library may register a class beside `Distribution`.
        if not isinstance(type_, type):
            raise TypeError(f"Expected a class of distributions, but got {type_}")

    def register(formula: Formula) -> Formula:
        _KL_FORMULA[type_p, type_q] = formula
        return formula

    return register


def register_kl_pairs(
    types_p: tuple[type, ...], types_q: tuple[type, ...]
) -> Callable[[Formula], Formula]:
    """Decorator of a formula for every pair of classes of two lists."""

    def register(formula: Formula) -> Formula:
        for type_p in types_p:
            for type_q in types_q:
                register_kl(type_p, type_q)(formula)
        return formula

    return register


def _find_formula(type_p: type, type_q: type) -> Callable[..., Tensor] | None:
    """The formula of the nearest bases: first of `type_p`, then of `type_q`."""
    pairs = ((p, q) for p in type_p.__mro__ for q in type_q.__mro__)
    return next((_KL_FORMULA[pair] for pair in pairs if pair in _KL_FORMULA), None)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence, the mean of ``p.log_prob(x) - q.log_prob(x)`` under `p`.

    Returns:
        A tensor of the batch shape.

    Raises:
        NotImplementedError: there is no formula for these classes.

    Example:
        >>> import oneflow as flow
        >>> normal = flow.distributions.Normal
        >>> flow.distributions.kl_divergence(normal(0.0, 1.0), normal(1.0, 1.0))
        tensor(0.5000, dtype=oneflow.float32)
    """
    formula = _find_formula(type(p), type(q))
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return formula(p, q)
