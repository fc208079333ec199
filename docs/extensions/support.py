"""Support of operators: gradients, signatures for placements, ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oneflow.primitives.registry import PRIMITIVES, Primitive
from oneflow_onnx.oneflow2onnx.lowering import LOWERINGS


@dataclass(frozen=True)
class Support:
    """The support of an operator, by the primitives that it runs.

    Attributes:
        primitives: what its examples ran.
    """

    primitives: tuple[Primitive, ...]

    def table(self) -> str:
        """Return a table, a line for each primitive."""
        lines = "".join(
            f"| `{each.name}` | {_mark(each.differentiable)} | {_mark(each.axes is not None)} | "
            f"{'one lowering' if each.name in LOWERINGS else 'by its equations'} |\n"
            for each in self.primitives
        )
        return (
            "Runs these primitives in the example:\n\n"
            "| primitive | gradient | split over devices | ONNX |\n| --- | --- | --- | --- |\n"
            f"{lines}"
        )


def _mark(holds: bool) -> str:
    return "yes" if holds else "no"


def support_of(names: Sequence[str]) -> Support | None:
    """Return the support of an operator that ran these primitives; None if it ran none."""
    found = tuple(PRIMITIVES[name] for name in names if name in PRIMITIVES)
    return Support(found) if found else None
