"""Names of ``torch.distributed.checkpoint.stateful``."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object with a state that checkpoints keep, such as a module or an optimizer."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state."""
        ...


__all__ = ["Stateful"]
