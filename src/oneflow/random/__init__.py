"""Seeds and states of the default random number generator."""

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.random.generator import (
    default_generator as default_generator,
    fork_rng as fork_rng,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)

__getattr__ = _lazy_getattr(
    __name__,
    names={
        **dict.fromkeys(("CoinFlip", "coin_flip"), "oneflow.data.readers.coin_flip"),
        **dict.fromkeys(
            ("bernoulli", "generate_random_batch_permutation_indices", "shuffle"),
            "oneflow.legacy_functions.random",
        ),
    },
)
