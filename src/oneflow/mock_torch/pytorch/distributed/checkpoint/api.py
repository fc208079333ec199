"""Names of ``torch.distributed.checkpoint.api``."""

from __future__ import annotations


class CheckpointException(BaseException):
    """The errors of a failed load of a checkpoint, by process.

    Args:
        msg: what was done.
        failures: the errors by rank; PyTorch's have a traceback beside each.
    """

    def __init__(self, msg: str, failures: dict[int, BaseException]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, BaseException]:
        """The errors by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{list(self._failures)}"]
        lines += [f"{error} (RANK {rank})" for rank, error in self._failures.items()]
        return "\n".join(lines)


__all__ = ["CheckpointException"]
