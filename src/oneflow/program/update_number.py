"""Run-time numbers that know their values in future steps, so that one transfer sends them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oneflow.base.device import Device
from oneflow.base.placement import Placement

# CPUs copy a vector in less time than choosing a row of a table takes.
_TYPES_WITHOUT_TABLES = frozenset({"cpu"})


def uses_number_tables(device: Device | Placement) -> bool:
    """Return whether programs on a device take the numbers of many steps at once."""
    return device.type not in _TYPES_WITHOUT_TABLES


class UpdateNumber(float):
    """The first of the run-time numbers of an optimizer's update.

    It stands for all of them: the others follow it among the numbers of the program.

    Attributes:
        ahead: the numbers of the next steps, as many as asked for, if nobody changes an option. It
            may be wrong; who uses it compares each row with the numbers that come.
    """

    __slots__ = ("ahead",)

    ahead: Callable[[int], Sequence[Sequence[float]]]

    def __new__(
        cls, number: float, ahead: Callable[[int], Sequence[Sequence[float]]]
    ) -> UpdateNumber:
        """Make the number of this step, with what tells those to come."""
        update_number = super().__new__(cls, number)
        update_number.ahead = ahead
        return update_number

    def __reduce__(self) -> tuple[type[float], tuple[float]]:
        """Pickle and copy as a plain number, without the values of future steps."""
        return float, (float(self),)
