"""Continuous relaxations of the distribution of one of several classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import ExpTransform
from oneflow.distributions.inverse_transform_sampling import random_unit
from oneflow.distributions.parameters import as_tensors
from oneflow.distributions.probability_parameters import ClassProbabilities
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.tensor.tensor import Tensor


class ExpRelaxedCategorical(ClassProbabilities):
    """The logarithms of a relaxed one-hot draw.

    Args:
        temperature: positive; the lower, the closer draws are to one-hot vectors.
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions.relaxed_categorical import ExpRelaxedCategorical
        >>> ExpRelaxedCategorical(flow.tensor(1.0), flow.ones(3)).sample().shape
        oneflow.Size([3])
    """

    # Their exponentials add up to 1, which a density of real vectors does not tell.
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_classes(probs, logits, None, validate_args)
        self.temperature = as_tensors(temperature, self.logits)[0]

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distributions with a larger batch shape; the temperature stays one number."""
        result = super().expand(batch_shape, _instance)
        result.temperature = self.temperature
        return result

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        uniform = random_unit(self.logits.expand(self._extended_shape(sample_shape)))
        scores = (self.logits - (-uniform.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        count = self._event_shape[0]
        score = self.logits - value * self.temperature
        of_classes = (score - score.logsumexp(-1, True)).sum(-1)
        return of_classes + math.lgamma(count) + (count - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """A continuous relaxation of the distribution of one-hot vectors, on the simplex.

    Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax" (2017).

    Args:
        temperature: positive; the lower, the closer draws are to one-hot vectors.
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> tools.RelaxedOneHotCategorical(flow.tensor(0.5), flow.ones(3)).sample().shape
        oneflow.Size([3])
    """

    arg_constraints: ClassVar = ClassProbabilities.arg_constraints
    support = constraints.simplex

    def __init__(
        self,
        temperature: Any,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.base_dist.logits
