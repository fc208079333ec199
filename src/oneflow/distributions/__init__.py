"""Probability distributions."""

from oneflow.distributions import categorical as categorical
from oneflow.distributions.distributions import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Distribution as Distribution,
    Normal as Normal,
    Uniform as Uniform,
)
