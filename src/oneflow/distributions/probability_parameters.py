"""Bases of distributions of successes or of classes: probabilities or their logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.base.shape import Size
from oneflow.distributions import constraints
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.parameters import lazy_property, logits_to_probs, probs_to_logits
from oneflow.tensor.tensor import Tensor


def _named_parameter(probs: Any, logits: Any) -> dict[str, Any]:
    """Return the one parameter of the two that is not None, by name.

    Raises:
        ValueError: both or neither.
    """
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return {"logits": logits} if probs is None else {"probs": probs}


class _ProbsOrLogits(Distribution):
    """Base of distributions with either of two parameters."""

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return next(getattr(self, name) for name in ("probs", "logits") if name in vars(self)).shape


class SuccessProbability(_ProbsOrLogits):
    """Base of distributions with a probability of success, or its log-odds."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}

    def _set_probability(
        self, probs: Any, logits: Any, validate_args: bool | None, **parameters: Any
    ) -> None:
        """Set the parameter that is not None, and further parameters of its shape and dtype."""
        probability = _named_parameter(probs, logits)
        self._set_parameters(validate_args, **parameters, **probability)
        (dtype,) = (getattr(self, name).dtype for name in probability)
        for name in parameters:
            setattr(self, name, getattr(self, name).to(dtype))

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds of success."""
        return probs_to_logits(self.probs, is_binary=True)


class ClassProbabilities(_ProbsOrLogits):
    """Base of distributions with a probability of each class, or its logarithm.

    Probabilities are normalised to a sum of 1 along the last dimension.
    """

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def _set_classes(
        self,
        probs: Tensor | None,
        logits: Tensor | None,
        event_shape: Sequence[int] | None,
        validate_args: bool | None,
    ) -> None:
        """Set the parameter that is not None; by default an event is a vector of classes."""
        name, parameter = next(iter(_named_parameter(probs, logits).items()))
        if not isinstance(parameter, Tensor) or parameter.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.__dict__["probs"] = parameter / parameter.sum(-1, True)
        else:
            self.__dict__["logits"] = parameter - parameter.logsumexp(-1, True)
        event = parameter.shape[-1:] if event_shape is None else event_shape
        Distribution.__init__(self, parameter.shape[:-1], event, validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)
