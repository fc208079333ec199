"""Tensors of random numbers.

Every function takes `generator`, by default the one that `oneflow.manual_seed` seeds, and uses one
of its streams.
"""

from __future__ import annotations

import operator
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype, int64
from oneflow.base.layout import require_memory_format
from oneflow.base.limits import largest_integer
from oneflow.base.placement import Placement
from oneflow.base.sbp import SbpLike
from oneflow.base.shape import as_integer, broadcast_shapes
from oneflow.functional.creation.options import (
    checked_dtype,
    choose_device,
    choose_device_like,
    new_shape,
    with_grad,
)
from oneflow.functional.creation.random_parameters import check_deviation
from oneflow.functional.registry import function
from oneflow.primitives.operators import random as rng, sampling
from oneflow.random.generator import Generator, draw
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_number
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


def floating_dtype(dtype: DType | None, default: DType, name: str) -> DType:
    """The dtype of real (or complex) random numbers.

    Raises:
        NotImplementedError: an integer or bool dtype.
    """
    result_dtype = checked_dtype(dtype, default)
    if not (result_dtype.is_floating_point or result_dtype.is_complex):
        raise NotImplementedError(
            f"`{name}` draws floating point numbers and has no dtype={result_dtype!r}; use "
            "`randint`"
        )
    return result_dtype


@function(method=False)
def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uniform random numbers in [0, 1).

    Args:
        size: sizes, as separate numbers or one sequence.
        generator: where the numbers come from, default the default generator.
        dtype: floating point or complex, default the default float type.
        layout: the layout of the result; only `oneflow.strided` has these elements.
        device: where the result lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for the gradient of the result.
        pin_memory: accepted for PyTorch's sake.

    Raises:
        NotImplementedError: an integer or bool dtype.

    Example:
        >>> import oneflow as flow
        >>> x = flow.rand(2, 3)
        >>> x.shape, bool((x >= 0).all() & (x < 1).all())
        (oneflow.Size([2, 3]), True)
    """
    options = {
        "shape": new_shape(size),
        "dtype": floating_dtype(dtype, get_default_dtype(), "rand"),
        "device": choose_device(device, placement, sbp),
    }
    return with_grad(call(rng.random_uniform, *draw(generator), 0.0, 1.0, **options), requires_grad)


@function(method=False)
def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Normal random numbers with mean 0 and variance 1 (complex ones: 1/2 in each part).

    Args:
        size: sizes, as separate numbers or one sequence.
        generator: where the numbers come from, default the default generator.
        dtype: floating point or complex, default the default float type.
        layout: the layout of the result; only `oneflow.strided` has these elements.
        device: where the result lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for the gradient of the result.
        pin_memory: accepted for PyTorch's sake.

    Raises:
        NotImplementedError: an integer or bool dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.randn((2, 3), dtype=flow.float64).dtype
        oneflow.float64
    """
    options = {
        "shape": new_shape(size),
        "dtype": floating_dtype(dtype, get_default_dtype(), "randn"),
        "device": choose_device(device, placement, sbp),
    }
    return with_grad(call(rng.random_normal, *draw(generator), 0.0, 1.0, **options), requires_grad)


@function(method=False)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`rand` with the shape, dtype and device of `input` where nothing else is given.

    Example:
        >>> import oneflow as flow
        >>> flow.rand_like(flow.zeros(2, 3)).shape
        oneflow.Size([2, 3])
    """
    require_memory_format(memory_format, "rand_like", input.ndim)
    return rand(
        input.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=choose_device_like(input._value.spec, device, placement, sbp),
        requires_grad=requires_grad,
    )


@function(method=False)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`randn` with the shape, dtype and device of `input` where nothing else is given.

    Example:
        >>> import oneflow as flow
        >>> flow.randn_like(flow.zeros(2, 3)).shape
        oneflow.Size([2, 3])
    """
    require_memory_format(memory_format, "randn_like", input.ndim)
    return randn(
        input.shape,
        generator=generator,
        dtype=dtype or input.dtype,
        device=choose_device_like(input._value.spec, device, placement, sbp),
        requires_grad=requires_grad,
    )


def _limits(low: Any, high: Any, size: Any, name: str) -> tuple[int, int, Any]:
    """`(low, high, size)` of a call that may have left out `low`.

    Raises:
        RuntimeError: an empty range.
    """
    if size is None and not isinstance(high, int):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    low, high = operator.index(low), operator.index(high)
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high} "
            f"(arguments `low` and `high` of `{name}`)"
        )
    return low, high, size


@function(method=False, also=("_C.randint",))
def randint(
    low: int | None = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers in ``[low, high)``; `low` may be left out.

    Args:
        low: smallest number, 0 when left out.
        high: one more than the largest number.
        size: sequence of sizes.
        generator: where the numbers come from, default the default generator.
        dtype: default int64.
        layout: the layout of the result; only `oneflow.strided` has these elements.
        device: where the result lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for the gradient of the result, of a floating point dtype.

    Raises:
        RuntimeError: `low` is not less than `high`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.randint(2, 5, (100,))
        >>> x.min().item(), x.max().item()
        (2, 4)
    """
    low, high, size = _limits(low, high, size, "randint")
    options = {
        "shape": new_shape((size,)),
        "dtype": checked_dtype(dtype, int64),
        "device": choose_device(device, placement, sbp),
    }
    return with_grad(
        call(rng.random_integer, *draw(generator), low, high, **options), requires_grad
    )


@function(method=False)
def randint_like(
    x: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`randint` with the shape and device of `x` where nothing else is given, and `oneflow.int64`.

    Example:
        >>> import oneflow as flow
        >>> flow.randint_like(flow.zeros(2, 3), 10).shape
        oneflow.Size([2, 3])
    """
    require_memory_format(memory_format, "randint_like", x.ndim)
    return randint(
        low if high is not None else 0,
        high if high is not None else low,
        x.shape,
        generator=generator,
        dtype=dtype,
        device=choose_device_like(x._value.spec, device, placement, sbp),
        requires_grad=requires_grad,
    )


@function(method=False)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The numbers 0 to ``n - 1`` in random order.

    Args:
        n: the number of integers.
        generator: where the order comes from, default the default generator.
        dtype: default int64.
        layout: the layout of the result; only `oneflow.strided` has these elements.
        device: where the result lives, default CPU.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for the gradient of the result, of a floating point dtype.
        pin_memory: accepted for PyTorch's sake.

    Raises:
        RuntimeError: `n` is negative, or `dtype` does not hold all of the numbers.

    Example:
        >>> import oneflow as flow
        >>> sorted(flow.randperm(4).tolist())
        [0, 1, 2, 3]
    """
    n = as_integer(n, "n")
    if n < 0:
        raise RuntimeError(f"`n` must be non-negative, got {n}")
    dtype = checked_dtype(dtype, int64)
    if n - 1 > (largest := largest_integer(dtype)):
        raise RuntimeError(f"`n` must be at most {largest + 1} for {dtype!r}, got {n}")
    options = {"dtype": dtype, "device": choose_device(device, placement, sbp)}
    order = call(rng.random_permutation, *draw(generator), size=n, **options)
    return with_grad(order, requires_grad)


@function(method=False)
def normal(
    mean: Tensor | float = 0.0,
    std: Tensor | float = 1.0,
    *size: Any,
    generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers with the mean and standard deviation of each element, or of all.

    Tensors that require grad get zeros: `distributions.Normal.rsample` draws numbers that follow
    their parameters.

    Args:
        mean: mean, a tensor or a number.
        std: standard deviation, a tensor or a number.
        size: sizes, for two numbers; tensors have theirs.
        generator: where the numbers come from, default the default generator.
        dtype: floating point, default the default float type or that of the tensors.
        layout: the layout of the result; only `oneflow.strided` has these elements.
        device: where the result lives, default CPU or that of the tensors.
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for the gradient of the result.

    Raises:
        RuntimeError: `std` is negative or complex.
        TypeError: a size and a tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.normal(flow.zeros(3), 0.0)
        tensor([0., 0., 0.], dtype=oneflow.float32)
    """
    if size:
        if any(isinstance(parameter, Tensor) and parameter.ndim for parameter in (mean, std)):
            raise TypeError(f"normal() takes sizes from its tensors, got size={size} besides")
        mean, std = as_number(mean), as_number(std)
    if not isinstance(std, Tensor):
        check_deviation(std)
    elif std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    tensors = [parameter for parameter in (mean, std) if isinstance(parameter, Tensor)]
    if not tensors:
        options = {
            "shape": new_shape(size),
            "dtype": floating_dtype(dtype, get_default_dtype(), "normal"),
            "device": choose_device(device, placement, sbp),
        }
        sample = call(rng.random_normal, *draw(generator), mean, std, **options)
        return with_grad(sample, requires_grad)
    kind = floating_dtype(dtype, tensors[0].dtype, "normal")
    device = choose_device_like(tensors[0]._value.spec, device, placement, sbp)
    mean, std = (x.to(device, kind) if isinstance(x, Tensor) else x for x in (mean, std))
    shape = broadcast_shapes(*[tensor.shape for tensor in tensors])
    noise = randn(shape, generator=generator, dtype=kind, device=device)
    return with_grad(call(rng.normal_of_noise, noise, mean, std), requires_grad)


@function()
def bernoulli(
    input: Tensor,
    p: float | None = None,
    *,
    dtype: DType | None = None,
    generator: Generator | None = None,
    inplace: bool = False,
) -> Tensor:
    """Ones and zeros: an element is 1 with the probability in `input`, or with probability `p`.

    Args:
        input: probabilities; with `p` only its shape and dtype count.
        p: one probability for all.
        dtype: the dtype of the result, default that of `input`.
        generator: where the numbers come from, default the default generator.
        inplace: write the result into `input`.

    Raises:
        RuntimeError: a probability outside [0, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.bernoulli(flow.tensor([0.0, 1.0]))
        tensor([0., 1.], dtype=oneflow.float32)
    """
    sample = _bernoulli(input, p, checked_dtype(dtype, input.dtype), generator)
    return write(input, unwrap(sample)) if inplace else sample


def _bernoulli(
    input: Tensor, probability: Any, dtype: DType, generator: Generator | None
) -> Tensor:
    """Ones and zeros in the shape of `input`."""
    options = {"shape": tuple(input.shape), "dtype": dtype}
    if probability is None or isinstance(probability, Tensor):
        probabilities = input if probability is None else probability
        if not probabilities.dtype.is_floating_point:
            raise NotImplementedError(
                f"`bernoulli` needs floating point probabilities, got {probabilities.dtype!r}"
            )
        return call(rng.random_bernoulli, probabilities, *draw(generator), **options)
    if not 0 <= probability <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={probability}")
    return call(rng.random_mask, probability, *draw(generator), **options, device=input.device)


@function()
def multinomial(
    x: Tensor,
    num_samples: int,
    replacement: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Draw indices with probabilities proportional to the weights in each row.

    Args:
        x: weights, not negative, floating point, of shape ``(n,)`` or ``(rows, n)``.
        num_samples: how many indices per row.
        replacement: may an index come up again.
        generator: where the numbers come from, default the default generator.

    Returns:
        int64 indices of shape ``(num_samples,)`` or ``(rows, num_samples)``.

    Raises:
        RuntimeError: shapes or weights that have no such sample.

    Example:
        >>> import oneflow as flow
        >>> flow.multinomial(flow.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
        tensor([1, 1], dtype=oneflow.int64)
    """
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {x.dtype!r}"
        )
    if x.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {x.ndim} dims")
    num_samples = as_integer(num_samples, "num_samples")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got num_samples={num_samples}")
    if not replacement and num_samples > x.shape[-1]:
        raise RuntimeError(
            f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"num_samples={num_samples}, categories={x.shape[-1]}"
        )
    options = {"count": num_samples, "replacement": bool(replacement)}
    return call(sampling.random_multinomial, x.detach(), *draw(generator), **options)
