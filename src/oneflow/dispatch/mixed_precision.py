"""Mixed precision: operands are cast to the precision that their operator declares."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import CPU
from oneflow.base.dtype import HALF_DTYPES, DType, float32
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.dispatch.operand_casts import CASTS
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.registry import Primitive
from oneflow.primitives.traits import Precision
from oneflow.program.value import Value


class OperandCast:
    """The function that casts operands.

    Args:
        targets: half precision by device type.
    """

    def __init__(self, targets: dict[str, DType]) -> None:
        self.targets = targets

    def __call__(self, primitive: Primitive, operands: tuple) -> tuple:
        """The operands in the precision that the primitive declares."""
        precision = primitive.traits.precision
        if precision is Precision.AS_GIVEN:
            return operands
        half = precision is Precision.HALF
        is_kept_on_cpu = precision is Precision.FULL_OFF_CPU and program_name() == PYTORCH
        for operand in operands:
            if type(operand) is Value:
                target = self.targets.get(operand.spec.device.type)
                if target is None or (is_kept_on_cpu and operand.spec.device.type == CPU.type):
                    break
                return tuple([_cast(x, target if half else float32, half) for x in operands])
        return operands


def _cast(operand: Any, target: DType, from_full: bool) -> Any:
    """`operand` in `target`, unless it is a number, of an integer dtype, or wider than float32."""
    if type(operand) is not Value or operand.spec.dtype is target:
        return operand
    if operand.spec.dtype in HALF_DTYPES or (from_full and operand.spec.dtype is float32):
        return cast(operand, dtype=target)
    return operand


def casting_targets() -> dict[str, DType]:
    """Half precision by device type where this thread's mixed precision is on."""
    targets = [
        function.targets for function in CASTS.functions if isinstance(function, OperandCast)
    ]
    return targets[0] if targets else {}
