"""Names of ``torch.distributed.tensor.experimental``."""

from __future__ import annotations

from typing import Any, NoReturn

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


def local_map(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to call a function with the parts of global tensors.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.distributed.tensor.experimental.local_map",
        "`x.to_local()` is the part of a process, and `y.to_global(placement, sbp)` the whole of"
        " such parts",
    )


def register_sharding(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to say how the arguments and results of an operator are split.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.distributed.tensor.experimental.register_sharding",
        "an operator in Python is as its own operators, whose rules are known, split it",
    )


__all__ = ["implicit_replication", "local_map", "register_sharding"]
