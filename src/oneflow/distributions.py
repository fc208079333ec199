"""Probability distributions."""

from oneflow.functional.distributions import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Distribution as Distribution,
    Normal as Normal,
    Uniform as Uniform,
)
