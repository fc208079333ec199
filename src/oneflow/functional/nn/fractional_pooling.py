"""Maxima over windows that are placed at random, so that sizes shrink by any factor.

Graham, "Fractional max-pooling" (2014).
"""

from __future__ import annotations

from typing import Any, Literal, overload

from oneflow.base.shape import is_sequence
from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn.spatial import batched, per_dimension, require_elements, unbatched
from oneflow.functional.random.creation import rand_like
from oneflow.functional.registry import function
from oneflow.primitives.operators import fractional_pool as p
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


def fractional_max_pool(
    name: str,
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any,
    output_ratio: Any,
    random_samples: Tensor | None,
    count: int,
) -> tuple[Tensor, Tensor]:
    """Maxima over random windows of `count` dimensions; see `fractional_max_pool2d`."""
    require_elements(name, input.shape)
    input, was_unbatched = batched(input, count, name)
    size = tuple(input.shape[2:])
    kernel = _sizes(name, kernel_size, count, "kernel_size")
    target = _target_size(name, size, output_size, output_ratio)
    for length, width, results in zip(size, kernel, target, strict=True):
        if results < 0 or results + width - 1 > length:
            raise RuntimeError(
                f"{name}(): windows of {kernel} do not have {target} places in an input of {size}"
            )
    if random_samples is None:
        one = input.detach().flatten(2)[..., :1]
        random_samples = rand_like(one.expand(*one.shape[:2], count))
    elif tuple(random_samples.shape) != (*input.shape[:2], count):
        raise RuntimeError(
            f"{name}(): `_random_samples` must have shape {(*input.shape[:2], count)}, one number "
            f"for each plane and dimension, got {tuple(random_samples.shape)}"
        )
    # PyTorch's samples for images begin with the width, those for volumes with the depth.
    samples = random_samples.flip(-1) if count == 2 else random_samples
    values, indices = call(
        p.fractional_max_pool, input, samples.to(input.dtype), kernel=kernel, target=target
    )
    return unbatched(values, was_unbatched), unbatched(indices, was_unbatched)


def _sizes(name: str, value: IntOrInts, count: int, argument: str) -> tuple[int, ...]:
    """One number for each dimension; unlike in other kinds of pooling no list of one number.

    Raises:
        RuntimeError: a list of another length.
    """
    if is_sequence(value) and len(value) != count:
        raise RuntimeError(f"{name}(): `{argument}` must be one or {count} integers, got {value!r}")
    return per_dimension(value, count, argument)


def _target_size(
    name: str, size: tuple[int, ...], output_size: Any, output_ratio: Any
) -> tuple[int, ...]:
    """The spatial sizes of the output.

    Raises:
        ValueError: neither a size nor a ratio is given.
    """
    if output_size is not None:
        return _sizes(name, output_size, len(size), "output_size")
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    ratios = output_ratio if isinstance(output_ratio, tuple | list) else [output_ratio] * len(size)
    return tuple([int(n * ratio) for n, ratio in zip(size, ratios, strict=True)])


@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any = None,
    output_ratio: Any = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...
@function(method=False, namespace="nn.functional")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maximum over windows at random places of two spatial dimensions.

    The places of one plane follow from one random number for each dimension; neighbouring windows
    are about equally far apart, and the last one ends with the input.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        kernel_size: size of the windows, one number or one per spatial dimension.
        output_size: height and width of the output: one number, or two.
        output_ratio: in its place, the factors by which the input shrinks.
        return_indices: also return where each maximum is within its ``H * W`` plane, for
            `max_unpool2d`.
        _random_samples: ``[N, C, 2]``, the random numbers, in [0, 1); those of the width first.

    Returns:
        ``[N, C, H', W']``, and with `return_indices` an int64 tensor of the same shape.

    Raises:
        RuntimeError: the input is too small for so many windows, or a shape does not fit.
        ValueError: neither `output_size` nor `output_ratio` is given.

    Example:
        >>> import oneflow as flow
        >>> x = flow.arange(16.0).reshape(1, 4, 4)
        >>> flow.nn.functional.fractional_max_pool2d(x, 2, output_size=3)[0, -1, -1]
        tensor(15., dtype=oneflow.float32)
    """
    values, indices = fractional_max_pool(
        "fractional_max_pool2d", input, kernel_size, output_size, output_ratio, _random_samples, 2
    )
    return (values, indices) if return_indices else values


@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any = None,
    output_ratio: Any = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor: ...
@function(method=False, namespace="nn.functional")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maximum over windows at random places of three spatial dimensions.

    Arguments as for `fractional_max_pool2d`; random numbers are those of depth, height and width.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, 2, 8, 8, 8)
        >>> flow.nn.functional.fractional_max_pool3d(x, 2, output_ratio=0.6).shape
        oneflow.Size([1, 2, 4, 4, 4])
    """
    values, indices = fractional_max_pool(
        "fractional_max_pool3d", input, kernel_size, output_size, output_ratio, _random_samples, 3
    )
    return (values, indices) if return_indices else values
