"""Seeds and states of the default random number generator."""

from oneflow.functional.generator import default_generator as default_generator
from oneflow.functional.generator import fork_rng as fork_rng
from oneflow.functional.generator import get_rng_state as get_rng_state
from oneflow.functional.generator import initial_seed as initial_seed
from oneflow.functional.generator import manual_seed as manual_seed
from oneflow.functional.generator import seed as seed
from oneflow.functional.generator import set_rng_state as set_rng_state
