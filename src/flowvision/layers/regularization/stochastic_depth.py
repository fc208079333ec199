"""Stochastic depth under the names of the layers; see `flowvision.ops`."""

from flowvision.ops.stochastic_depth import (
    StochasticDepth as StochasticDepth,
    stochastic_depth as stochastic_depth,
)
