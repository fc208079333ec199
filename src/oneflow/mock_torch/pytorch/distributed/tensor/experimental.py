"""Names of ``torch.distributed.tensor.experimental``."""

from __future__ import annotations

from typing import NoReturn

from oneflow.mock_torch.missing import raise_missing


def implicit_replication() -> NoReturn:
    """Refuse to take local tensors for copies of global ones.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.distributed.tensor.experimental.implicit_replication",
        "`x.to_global(placement, flow.sbp.broadcast)` says that each rank has a copy of a tensor",
    )


__all__ = ["implicit_replication"]
