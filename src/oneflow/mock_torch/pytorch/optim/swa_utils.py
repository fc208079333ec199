"""Averaging weights: the schedule that changes the present rates, as PyTorch's does."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.pytorch.optim.lr_scheduler import ChangeableLR
from oneflow.optim import swa_utils


class SWALR(ChangeableLR, swa_utils.SWALR):
    """`SWALR` that changes the present rates."""

    @property
    def _curve_step(self) -> int:
        """The calls of `step` since it was made, whatever number the epoch has."""
        return self._step_count - 1

    def _go_to(self, epoch: int | None) -> None:
        """Go on by one step from the present rates; `epoch` is only the number that it gets."""
        super()._go_to(None)
        if epoch is not None:
            self.last_step = epoch

    def curve(self, step: int) -> float:
        """The part of the way that is left."""
        return 1.0 - self._share(step)

    def floor(self, group: dict[str, Any]) -> float:
        """The rate to go to; a group that has none keeps its own."""
        return group.get("swa_lr", group["lr"])

    def _changed(self, group: dict[str, Any], first: float, before: float, after: float) -> float:
        """The next rate of a group; it stays where it has arrived."""
        return super()._changed(group, first, before, after) if before else self.floor(group)


__all__ = ["SWALR"]
