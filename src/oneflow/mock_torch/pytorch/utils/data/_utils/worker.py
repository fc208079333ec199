"""Names of ``torch.utils.data._utils.worker``."""

import numpy as np

from oneflow.data.worker import WorkerInfo, get_worker_info

_HALF = 32


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the seed that a worker process gives NumPy.

    Args:
        base_seed: the seed of its loader.
        worker_id: its number.
    """
    low, high = base_seed % (1 << _HALF), base_seed >> _HALF
    return np.random.SeedSequence([worker_id, low, high, 0]).generate_state(4).tolist()


__all__ = ["WorkerInfo", "_generate_state", "get_worker_info"]
