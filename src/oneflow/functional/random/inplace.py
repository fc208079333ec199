"""Tensor methods that fill a tensor with random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.keyword_aliases import keyword_aliases, self_by_name
from oneflow.base.limits import largest_integer
from oneflow.base.shape import as_integer
from oneflow.functional.creation.random_parameters import (
    check_deviation,
    check_ends,
    check_uniform_ends,
    warn_of_rounding,
)
from oneflow.primitives.operators import random as rng, sampling
from oneflow.primitives.operators.elementwise import exp
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value
from oneflow.random.generator import Generator, draw
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import as_number
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


def _method(body: Callable) -> Callable:
    method = self_by_name(body)
    attach(body.__name__, method)
    return method


def _draw_like(
    tensor: Tensor, primitive: Primitive, generator: Generator | None, *numbers: float
) -> Value:
    """Random numbers with the shape, dtype and device of `tensor`."""
    spec = tensor._value.spec
    options = {"shape": spec.shape, "dtype": spec.dtype, "device": spec.device}
    return primitive(*draw(generator), *map(as_number, numbers), **options)


def _need_floating(tensor: Tensor, name: str, complex_too: bool = False) -> None:
    dtype = tensor.dtype
    if not (dtype.is_floating_point or (complex_too and dtype.is_complex)):
        raise NotImplementedError(f"`{name}` is not implemented for {dtype!r}: it draws floats")


@_method
@keyword_aliases(from_="from")
def uniform_(
    self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Generator | None = None, **ends: Any
) -> Tensor:
    """Fill with uniform numbers in ``[a, b)``; ``from=`` and ``to=`` mean the same.

    Raises:
        RuntimeError: `a` is greater than `b`, or the dtype does not hold them or their difference.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(100).uniform_(2.0, 3.0)
        >>> bool(((x >= 2) & (x < 3)).all())
        True
    """
    low, high = ends.pop("from", a), ends.pop("to", b)
    if ends:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(ends))}'")
    _need_floating(self, "uniform_")
    check_uniform_ends(self.dtype, low, high)
    return write(self, _draw_like(self, rng.random_uniform, generator, low, high))


@_method
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers.

    Raises:
        RuntimeError: `std` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).normal_(mean=5.0, std=0.0)
        tensor([5., 5., 5.], dtype=oneflow.float32)
    """
    _need_floating(self, "normal_", complex_too=True)
    check_deviation(std)
    return write(self, _draw_like(self, rng.random_normal, generator, mean, std))


@_method
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers whose logarithm is normal with the given mean and standard deviation.

    Raises:
        RuntimeError: `std` is not positive.

    Example:
        >>> import oneflow as flow
        >>> bool((flow.zeros(100).log_normal_() > 0).all())
        True
    """
    _need_floating(self, "log_normal_")
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return write(self, exp(_draw_like(self, rng.random_normal, generator, mean, std)))


@_method
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers of the Cauchy distribution.

    Raises:
        RuntimeError: `sigma` is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).cauchy_(median=1.0).shape
        oneflow.Size([3])
    """
    _need_floating(self, "cauchy_")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return write(self, _draw_like(self, sampling.random_cauchy, generator, median, sigma))


@_method
def exponential_(self: Tensor, lambd: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with exponential numbers of rate `lambd`; never 0.

    Raises:
        RuntimeError: `lambd` is not positive.

    Example:
        >>> import oneflow as flow
        >>> bool((flow.zeros(100).exponential_() > 0).all())
        True
    """
    _need_floating(self, "exponential_")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return write(self, _draw_like(self, rng.random_exponential, generator, lambd))


@_method
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success, each with probability `p`.

    Raises:
        RuntimeError: `p` is outside (0, 1).

    Example:
        >>> import oneflow as flow
        >>> bool((flow.zeros(100).geometric_(0.5) >= 1).all())
        True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return write(self, _draw_like(self, sampling.random_geometric, generator, p))


@_method
def bernoulli_(
    self: Tensor,
    p: Tensor | float = 0.5,
    *,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with ones (with probability `p`, a number or a tensor) and zeros.

    Raises:
        RuntimeError: a probability outside [0, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).bernoulli_(1.0)
        tensor([1., 1., 1.], dtype=oneflow.float32)
    """
    spec = self._value.spec
    options = {"shape": spec.shape, "dtype": spec.dtype}
    if isinstance(p, Tensor):
        sample = rng.random_bernoulli(unwrap(p), *draw(generator), **options)
        return write(self, sample)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return write(self, rng.random_mask(p, *draw(generator), **options, device=spec.device))


@_method
def random_(
    self: Tensor, *ends: int | None, generator: Generator | None = None, **named: int | None
) -> Tensor:
    """Fill with random integers: ``random_()``, ``random_(to)`` or ``random_(from, to)``.

    Without an upper end the numbers go up to the largest that the dtype holds exactly.

    Raises:
        RuntimeError: an empty range, or one that the dtype does not hold.
        TypeError: an end is no integer.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(100).random_(2, 5)
        >>> sorted(set(x.tolist()))
        [2.0, 3.0, 4.0]
    """
    bounds = ends if len(ends) == 2 else (0, *ends) if ends else (0, None)
    low, high = named.pop("from", bounds[0]), named.pop("to", bounds[1])
    low = 0 if low is None else as_integer(low, "from")
    high = largest_integer(self.dtype) + 1 if high is None else as_integer(high, "to")
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    named_ends = {"from": low, "to - 1": high - 1}
    check_ends(self.dtype, named_ends)
    if self.dtype.is_floating_point:
        warn_of_rounding(self.dtype, named_ends)
    return write(self, _draw_like(self, rng.random_integer, generator, low, high))
