"""``torch.utils.data.backward_compatibility``: what loaders once needed to divide samples."""

from __future__ import annotations

import warnings


def worker_init_fn(worker_id: int) -> None:
    """Do nothing: loaders divide the samples of pipes among their workers by themselves."""
    warnings.warn(
        "Usage of `backward_compatibility.worker_init_fn` is deprecated as `DataLoader` "
        "automatically applies sharding in every worker",
        FutureWarning,
        stacklevel=2,
    )
