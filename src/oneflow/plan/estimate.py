"""`CostEstimate`: the memory, work and collectives of one device in one step."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.plan.sums import CollectiveTotal
from oneflow.program.liveness import Memory


@dataclass(frozen=True)
class CostEstimate:
    """An estimate of the memory, work and collectives of one device in one step.

    Attributes:
        by: its source, ``"model"`` or ``"XLA"``.
        memory: bytes.
        flops: operations computed.
        collectives: collectives, by kind and size of groups.
    """

    by: str
    memory: Memory
    flops: float
    collectives: tuple[CollectiveTotal, ...]

    @property
    def sent(self) -> float:
        """Bytes that the device sends."""
        return sum(collective.sent for collective in self.collectives)
