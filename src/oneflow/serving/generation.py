"""Requests for the tokens that continue a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from oneflow.serving.errors import invalid


class GenerationRequest(NamedTuple):
    """A sequence to continue.

    Attributes:
        tokens: its tokens, at least one.
        max_tokens: the number of tokens after which it ends; 0 for as many as there is room for.
        temperature: the number by which logits are divided before a token is drawn; 0 for the
            likeliest one.
        seed: the seed of the random numbers, so that equal requests have equal answers.
        stop_token: the token after which it ends; -1 for none.
    """

    tokens: Sequence[int]
    max_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0
    stop_token: int = -1


_OPTIONS = {"max_tokens": int, "temperature": float, "seed": int, "stop_token": int}


def generation_request(tokens: Any, options: Mapping[str, Any]) -> GenerationRequest:
    """Return a request as clients send it.

    Args:
        tokens: the tokens.
        options: the other fields, as far as they are given, among others.

    Raises:
        RequestError: one of them is of another type, or negative.
    """
    if not isinstance(tokens, Sequence) or not all(type(token) is int for token in tokens):
        raise invalid("`tokens` must be a list of integers")
    if not tokens:
        raise invalid("`tokens` must not be empty")
    arguments: dict[str, Any] = {}
    for name, kind in _OPTIONS.items():
        value = options.get(name)
        if value is None:
            continue
        if type(value) not in (int, kind) or not -1 <= value < 2**63:
            raise invalid(f"`{name}` must be a number, got {value!r}")
        if value < 0 and name != "stop_token":
            raise invalid(f"`{name}` must not be negative, got {value!r}")
        arguments[name] = value
    return GenerationRequest(list(tokens), **arguments)


class TokenSampler:
    """Draws the tokens of a sequence.

    Args:
        request: says how.

    Example:
        >>> from oneflow.serving.generation import GenerationRequest, TokenSampler
        >>> import numpy as np
        >>> TokenSampler(GenerationRequest([0])).draw(np.array([0.5, 2.0, 1.0]))
        1
    """

    def __init__(self, request: GenerationRequest) -> None:
        self._temperature = request.temperature
        self._random = np.random.default_rng(request.seed)

    def draw(self, logits: np.ndarray) -> int:
        """Return a token.

        Args:
            logits: the logits of all tokens.
        """
        if not self._temperature:
            return int(logits.argmax())
        # The largest of the logits with Gumbel noise is a draw from their softmax.
        noise = self._random.gumbel(size=len(logits))
        return int((logits.astype(np.float64) / self._temperature + noise).argmax())
