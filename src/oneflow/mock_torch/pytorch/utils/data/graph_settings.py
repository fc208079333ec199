"""``torch.utils.data.graph_settings``: seeds and shares of the pipes behind a pipe."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow.data.pipe_graph import (
    apply_sharding as apply_sharding,
    apply_shuffle_settings as apply_shuffle_settings,
    get_all_graph_pipes as get_all_graph_pipes,
    seed_pipes,
)
from oneflow.data.randomness import random_seed


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give the pipes behind a pipe that have a method `set_seed` seeds from a generator.

    Args:
        datapipe: the last pipe.
        rng: the generator; None for the default one.

    Returns:
        The pipe.
    """
    return seed_pipes(datapipe, lambda: random_seed(rng))


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """Give pipes seeds, as `apply_random_seed` does, which replaces this function."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases."
        " Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)
