"""``torch._higher_order_ops.associative_scan``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.mock_torch.pytorch.utils._pytree import tree_flatten, tree_unflatten


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Combine the first element with the second, the result with the third, and so on.

    The function is called for many elements at once, as often as their number can be halved.

    Args:
        combine_fn: an associative function of two trees of tensors, such as `xs`.
        xs: a tensor, or a tree of tensors.
        dim: the dimension whose elements are combined.
        reverse: whether to begin with the last element.
        combine_mode: accepted; `combine_fn` may compute anything that takes further dimensions.

    Returns:
        A tree like `xs` with all intermediate results.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch._higher_order_ops.associative_scan import associative_scan
        ...     associative_scan(torch.mul, torch.tensor([1.0, 2.0, 3.0, 4.0]), 0).tolist()
        [1.0, 2.0, 6.0, 24.0]
    """
    leaves, spec = tree_flatten(xs)
    leaves = [leaf.movedim(dim, 0) for leaf in leaves]

    def combine(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
        # Functions may count dimensions from the front.
        trees = [
            tree_unflatten([leaf.movedim(0, dim) for leaf in some], spec)
            for some in (first, second)
        ]
        return [leaf.movedim(dim, 0) for leaf in tree_flatten(combine_fn(*trees))[0]]

    if reverse:
        leaves = [leaf.flip(0) for leaf in leaves]
    results = _scan(combine, leaves)
    if reverse:
        results = [result.flip(0) for result in results]
    return tree_unflatten([result.movedim(0, dim) for result in results], spec)


def _scan(
    combine: Callable[[list[Tensor], list[Tensor]], list[Tensor]], xs: list[Tensor]
) -> list[Tensor]:
    """Scan the first dimension: pairs first, from which the elements between them follow."""
    count = xs[0].shape[0]
    if count < 2:
        return xs
    pairs = combine([x[: count - 1 : 2] for x in xs], [x[1::2] for x in xs])
    odd = _scan(combine, pairs)
    even = [x[:1] for x in xs]
    if count > 2:
        rest = combine([x[: (count - 1) // 2] for x in odd], [x[2::2] for x in xs])
        even = [flow.cat([first, part]) for first, part in zip(even, rest, strict=True)]
    return [_interleaved(*pair) for pair in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Elements of two tensors in turn; the first may have one more."""
    count = len(odd)
    pairs = flow.stack([even[:count], odd], 1).flatten(0, 1)
    return pairs if len(even) == count else flow.cat([pairs, even[count:]])


__all__ = ["associative_scan"]
