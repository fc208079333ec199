"""``torch.func.rearrange``: dimensions of a tensor by names, split, joined and put in an order."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from oneflow.functional.shape.concat import stack
from oneflow.tensor.tensor import Tensor

_REST = "..."
_TOKEN = re.compile(r"\.\.\.|[()]|\w+|\S")


class _Side(NamedTuple):
    """One side of a pattern.

    Attributes:
        groups: the dimensions, each a tuple of the names that are in it.
    """

    groups: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> list[str]:
        return list(itertools.chain.from_iterable(self.groups))


def _side(text: str, pattern: str) -> _Side:
    groups: list[tuple[str, ...]] = []
    is_open = False
    for token in _TOKEN.findall(text):
        if token in "()":
            if is_open == (token == "("):
                raise ValueError(f"`pattern` has brackets that do not match: {pattern!r}")
            is_open = token == "("
            groups += [()] if is_open else []
            continue
        if token != _REST and not token.isidentifier() and token != "1":
            raise ValueError(f"`pattern` must hold names, 1 and ..., got {token!r} in {pattern!r}")
        name = () if token == "1" else (token,)
        if is_open:
            groups[-1] += name
        else:
            groups.append(name)
    if is_open:
        raise ValueError(f"`pattern` has brackets that do not match: {pattern!r}")
    return _Side(tuple(groups))


@functools.lru_cache(maxsize=256)
def _sides(pattern: str) -> tuple[_Side, _Side]:
    """The two sides of a pattern, which have the same names, each once.

    Raises:
        ValueError: they have not.
    """
    left_text, separator, right_text = pattern.partition("->")
    if not separator or "->" in right_text:
        raise ValueError(f"`pattern` must have one '->', got {pattern!r}")
    left, right = _side(left_text, pattern), _side(right_text, pattern)
    for side in (left, right):
        if len(set(side.names)) != len(side.names):
            raise ValueError(f"a name stands twice on one side of {pattern!r}")
    if set(left.names) != set(right.names):
        only = sorted(set(left.names) ^ set(right.names))
        raise ValueError(f"both sides of {pattern!r} must have the same names; one lacks {only}")
    if any(_REST in group and len(group) > 1 for group in left.groups):
        raise ValueError(f"'...' must stand alone on the left of {pattern!r}")
    return left, right


def _split(size: int, group: tuple[str, ...], sizes: dict[str, int], pattern: str) -> None:
    """Find the sizes of the names in a dimension, of which one may be missing.

    Raises:
        ValueError: they do not fit the dimension.
    """
    missing = [name for name in group if name not in sizes]
    product = math.prod(sizes[name] for name in group if name in sizes)
    if len(missing) > 1:
        raise ValueError(f"the sizes of all but one of {missing} must be given for {pattern!r}")
    if missing:
        if not product or size % product:
            raise ValueError(f"{group} of {pattern!r}: {size} is no multiple of {product}")
        sizes[missing[0]] = size // product
    elif product != size:
        raise ValueError(f"{group} of {pattern!r} has size {product}, the dimension has {size}")


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Split, join and reorder the dimensions of a tensor by a pattern.

    Args:
        tensor: the tensor, or several of one shape, which are a first dimension.
        pattern: names of the dimensions before and after, such as ``"b (h w) c -> b c h w"``; those
            in brackets are one dimension, ``...`` stands for any number of them, 1 for one of that
            size.
        axes_lengths: sizes by name, where a dimension is split.

    Raises:
        ValueError: the pattern is none, or does not fit the tensor.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.func.rearrange(torch.ones(6, 4), "(a b) c -> b (c a)", a=2).shape
        oneflow.Size([3, 8])
    """
    whole = tensor if isinstance(tensor, Tensor) else stack(list(tensor))
    left, right = _sides(pattern)
    unknown = axes_lengths.keys() - set(left.names)
    if unknown:
        raise ValueError(f"{sorted(unknown)} are no names of {pattern!r}")
    groups = list(left.groups)
    rest: list[str] = []
    if (_REST,) in groups:
        place, count = groups.index((_REST,)), whole.ndim - len(groups) + 1
        rest = [f"... {number}" for number in range(count)]
        groups[place : place + 1] = [(name,) for name in rest]
        if count < 0:
            raise ValueError(f"{pattern!r} has more dimensions than {whole.ndim}")
    if len(groups) != whole.ndim:
        raise ValueError(f"{pattern!r} has {len(groups)} dimensions, the tensor {whole.ndim}")
    sizes = dict(axes_lengths)
    for size, group in zip(whole.shape, groups, strict=True):
        _split(size, group, sizes, pattern)
    names = [name for group in groups for name in group]
    results: list[tuple[str, ...]] = []
    for group in right.groups:
        if group == (_REST,):
            results += [(name,) for name in rest]
        else:
            results.append(tuple(n for name in group for n in (rest if name == _REST else [name])))
    order = [names.index(name) for group in results for name in group]
    parts = whole.reshape([sizes[name] for name in names])
    shape = [math.prod(sizes[name] for name in group) for group in results]
    return parts.permute(order).reshape(shape)
