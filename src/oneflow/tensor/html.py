"""Global tensors as HTML: the values, and which device holds which part."""

from __future__ import annotations

from html import escape
from typing import Any

from oneflow.base.grid_html import grid_html
from oneflow.base.sbp import PARTIAL_SUM, sbp_text
from oneflow.primitives.shard_shapes import mesh_coordinates, shard_slices
from oneflow.tensor.methods import attach
from oneflow.tensor.printing import format_tensor
from oneflow.tensor.tensor import Tensor


def tensor_html(self: Tensor) -> str | None:
    """The display of a global tensor in notebooks; None for others, which are shown as text.

    It reads the values, as printing does.
    """
    spec = self._value.spec
    if spec.sbp is None:
        return None
    placement: Any = spec.device
    shape, sbp = tuple(spec.shape), spec.sbp
    parts = {
        rank: _part_text(shape, shard_slices(shape, placement.hierarchy, sbp, coordinate))
        for rank, coordinate in zip(
            placement.flat, mesh_coordinates(placement.hierarchy), strict=True
        )
    }
    if PARTIAL_SUM in sbp:
        parts = {rank: f"summand of {part}" for rank, part in parts.items()}
    title = f"{list(shape)} on {placement.type}, {sbp_text(sbp)}"
    return f"<pre>{escape(format_tensor(self))}</pre>" + grid_html(title, placement.ranks, parts)


def _part_text(shape: tuple[int, ...], slices: tuple[slice, ...]) -> str:
    if all(part == slice(0, size) for part, size in zip(slices, shape, strict=True)):
        return "all"
    ranges = (
        ":" if part == slice(0, size) else f"{part.start}:{part.stop}"
        for part, size in zip(slices, shape, strict=True)
    )
    return f"[{', '.join(ranges)}]"


attach("_repr_html_", tensor_html)
