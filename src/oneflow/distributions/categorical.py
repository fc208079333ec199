"""The distribution of one of several classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.base.limits import finfo
from oneflow.base.shape import broadcast_shapes
from oneflow.distributions import constraints
from oneflow.distributions.probability_parameters import ClassProbabilities
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.random.creation import multinomial
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class Categorical(ClassProbabilities):
    """The numbers 0 to n - 1 with given probabilities.

    Args:
        probs: weights of the numbers, along the last dimension; normalised to a sum of 1.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Categorical(flow.tensor([1.0, 3.0])).probs
        tensor([0.2500, 0.7500], dtype=oneflow.float32)
    """

    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_classes(probs, logits, (), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The numbers of the classes."""
        return constraints.integer_interval(0, self._count - 1)

    @property
    def _count(self) -> int:
        return self.param_shape[-1]

    @property
    def mean(self) -> Tensor:
        """NaN: numbers of classes have no mean."""
        return full_like(self.probs[..., 0], math.nan)

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        """NaN: numbers of classes have no variance."""
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers, as int64."""
        count = math.prod(sample_shape)
        if count == 0 or 0 in self._batch_shape:
            return import_array([], self.mode.dtype).reshape(self._extended_shape(sample_shape))
        rows = self.probs.detach().reshape((-1, self._count))
        return multinomial(rows, count, True).t().reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of each number."""
        self._validate_sample(value)
        shape = broadcast_shapes(value.shape, self._batch_shape)
        logits = self.logits.expand((*shape, self._count))
        return logits.gather(-1, value.long().expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        # Numbers of probability 0 count nothing; their logarithm is minus infinity.
        finite = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The numbers, along the first dimension."""
        values = import_array(list(range(self._count)), None, self.probs.device)
        return self._batch_support(values, expand)
