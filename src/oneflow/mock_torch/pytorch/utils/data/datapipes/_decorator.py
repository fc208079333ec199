"""``torch.utils.data.datapipes._decorator``: decorators of pipes."""

from oneflow.data.datapipes import (
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
)

__all__ = ["functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic"]
