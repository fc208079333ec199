"""Probability distributions."""

from oneflow.distributions.distributions import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Distribution as Distribution,
    Normal as Normal,
    Uniform as Uniform,
)
