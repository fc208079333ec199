"""A sequence that a server continues."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from oneflow.serving.errors import RequestError
from oneflow.serving.generation import GenerationRequest, TokenSampler


@dataclass(slots=True, eq=False)
class GeneratedSequence:
    """A sequence with its client's options and results.

    Attributes:
        request: the request.
        sampler: draws its tokens.
        outputs: gets its tokens, then None, or an error.
        position: the number of tokens that the graph has seen.
        generated: the tokens of the answer.
        token: the last one of them.
        received: `time.perf_counter_ns` when it joined the queue.
        started: when it left it.
        is_cancelled: nobody waits for it.
    """

    request: GenerationRequest
    sampler: TokenSampler
    outputs: asyncio.Queue[int | RequestError | None] = field(default_factory=asyncio.Queue)
    position: int = 0
    generated: int = 0
    token: int = 0
    received: int = field(default_factory=time.perf_counter_ns)
    started: int = 0
    is_cancelled: bool = False

    @property
    def next_token(self) -> int:
        """The token that the graph has to see next."""
        prompt = self.request.tokens
        return prompt[self.position] if self.position < len(prompt) else self.token
