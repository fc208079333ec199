"""The distribution of one of several outcomes, under the path of upstream and PyTorch."""

from oneflow.distributions.distributions import Categorical as Categorical

__all__ = ["Categorical"]
