"""Layouts of the operands of attention, as OneFlow's builtins name them.

B is the batch, M the position, H the head and K the feature of a head. Letters in brackets are one
dimension: ``BM(HK)`` has all features of a position side by side, ``(BM)HK`` all positions of all
sequences. In ``BM(H3K)`` each head has its query, key and value side by side, in ``BM(H2K)`` its
key and value.
"""

from __future__ import annotations

import re

from oneflow.tensor.tensor import Tensor

PLAIN = ("BHMK", "BMHK", "MBHK", "BM(HK)", "MB(HK)", "(BM)HK", "(BM)(HK)")
JOINED = ("BM(H2K)", "MB(H2K)", "(BM)(H2K)", "BM(H3K)", "MB(H3K)", "(BM)(H3K)")
_ORDER = "BHMK"


def is_packed(layout: str) -> bool:
    """Return whether sequences lie one behind the other in one dimension."""
    return layout.startswith("(BM)")


def _count_of_parts(layout: str) -> int:
    """Return how many of query, key and value lie side by side."""
    return int(re.sub(r"\D", "", layout) or 1)


def check_layout(name: str, layout: str | None, layouts: tuple[str, ...]) -> str:
    """Return the layout of an argument, which must be a known one.

    Raises:
        RuntimeError: it is not.
    """
    if layout not in layouts:
        raise RuntimeError(f"`{name}_layout` must be one of {', '.join(layouts)}, got {layout!r}")
    return layout


def heads_of(
    name: str,
    x: Tensor,
    layout: str | None,
    *,
    part: int = 0,
    heads: int | None = None,
    head_size: int | None = None,
) -> Tensor:
    """Return a tensor in the order BHMK; one whose sequences are packed has a batch of 1.

    Args:
        name: the argument's name, for errors.
        x: the tensor.
        layout: where it has its dimensions.
        part: 0 the query, 1 the keys, 2 the values, of those that lie side by side.
        heads: the number of heads, if it is known.
        head_size: the number of features of a head; one of the two is needed where H and K are
            one dimension.

    Raises:
        RuntimeError: the layout is unknown, or sizes do not fit.
    """
    layout = check_layout(name, layout, PLAIN + JOINED)
    dimensions, parts = _dimensions(layout), _count_of_parts(layout)
    if len(dimensions) != x.ndim:
        raise RuntimeError(
            f"`{name}_layout` {layout} is that of tensors with {len(dimensions)} dimensions, but "
            f"`{name}` has shape {list(x.shape)}"
        )
    if len(dimensions[-1]) > 1:
        if heads is None and head_size is None:
            raise RuntimeError(f"`{name}` in the layout {layout} needs the size of a head")
        factor = parts * (heads or head_size or 1)
        if x.shape[-1] % factor:
            raise RuntimeError(
                f"the last dimension of `{name}` must be a multiple of {factor}, got {x.shape[-1]}"
            )
        first = 3 - parts if parts > 1 else part
        if not first <= part < 3:
            raise RuntimeError(
                f"`{name}` must be part {first} to 2 of the layout {layout} (0 the query, 1 the "
                f"keys, 2 the values), got {part}"
            )
        x = x.unflatten(-1, (heads or -1, parts, -1 if heads else head_size or -1))
        x = x.select(-2, part - first)
        dimensions = [*dimensions[:-1], "H", "K"]
    if dimensions[0] == "BM":
        x, dimensions = x.unsqueeze(0), ["B", "M", *dimensions[1:]]
    x = x.permute([dimensions.index(axis) for axis in _ORDER])
    for what, expected, size in (("H", heads, x.shape[1]), ("K", head_size, x.shape[3])):
        if expected not in (None, size):
            raise RuntimeError(f"{what} of `{name}` must be {expected}, got {size}")
    return x


def to_layout(x: Tensor, layout: str) -> Tensor:
    """Return a tensor of the order BHMK in a layout of `PLAIN`."""
    dimensions = _dimensions(layout)
    x = x.permute([_ORDER.index(axis) for axis in "".join(dimensions)])
    if len(dimensions[-1]) > 1:
        x = x.flatten(-2)
    return x.flatten(0, 1) if dimensions[0] == "BM" else x


def _dimensions(layout: str) -> list[str]:
    """The letters of each dimension: ``BM(H3K)`` has B, M and HK."""
    return [re.sub(r"[()\d]", "", group) for group in re.findall(r"\(\w+\)|\w", layout)]
