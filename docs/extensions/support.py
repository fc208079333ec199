"""Support of operators: gradients, signatures for placements, ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from markup import table

from oneflow.primitives.registry import PRIMITIVES
from oneflow_onnx.oneflow2onnx.lowering import LOWERINGS


def support_table(names: Sequence[str]) -> str:
    """Return a table with a line for each of the primitives that an example ran."""
    rows = (
        (
            f"``{name}``",
            _mark(PRIMITIVES[name].differentiable),
            _mark(_splits(name)),
            "one lowering" if name in LOWERINGS else "by its equations",
        )
        for name in names
    )
    header = ("primitive", "gradient", "split over devices", "ONNX")
    return f"Runs these primitives in the example:\n\n{table(header, *rows)}"


def _splits(name: str) -> bool:
    return PRIMITIVES[name].axes is not None or PRIMITIVES[name].elementwise


def _mark(holds: bool) -> str:
    return "yes" if holds else "no"
