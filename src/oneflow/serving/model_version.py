"""One version of a model, ready for requests."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.generation import GenerationRequest
from oneflow.serving.model_graph import TensorSignature
from oneflow.serving.statistics import Statistics


class ModelVersion(ABC):
    """A version of a model with its queue and its statistics.

    Args:
        name: the name of the model.
        version: its number.
        config: its complete configuration.
        labels: the names of the classes that the elements of an output stand for, by its name.

    Attributes:
        statistics: what happened to it.
        inputs: the tensors that it takes, without the dimension of the batch.
        outputs: the tensors that it returns, likewise.
    """

    inputs: Sequence[TensorSignature]
    outputs: Sequence[TensorSignature]

    def __init__(
        self, name: str, version: int, config: Any, labels: Mapping[str, Sequence[str]]
    ) -> None:
        self.name = name
        self.version = version
        self.config = config
        self.labels = labels
        self.statistics = Statistics()

    @property
    @abstractmethod
    def waiting(self) -> int:
        """The number of requests in the queue."""

    @abstractmethod
    async def infer(
        self, arrays: Mapping[str, np.ndarray], timeout: float | None = None
    ) -> list[np.ndarray]:
        """Return the outputs for some inputs, in the order of `outputs`.

        Args:
            arrays: the inputs by name.
            timeout: the seconds after which nobody wants them any more.

        Raises:
            RequestError: the inputs are wrong, the queue is full, or time is over; or the model
                answers with sequences of tokens.
        """

    @abstractmethod
    def generate(self, request: GenerationRequest) -> AsyncGenerator[int]:
        """Return the tokens that continue a sequence, each as soon as it is known.

        Raises:
            RequestError: the request is wrong, or the queue is full; or the model does not
                continue sequences.
        """

    @abstractmethod
    async def close(self) -> None:
        """Answer the requests in the queue, then end."""

    @contextmanager
    def count_failures(self) -> Iterator[None]:
        """Count the errors of a request."""
        start = time.perf_counter_ns()
        try:
            yield
        except RequestError as error:
            self.statistics.add_failure(error.kind.name, time.perf_counter_ns() - start)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            self.statistics.add_failure("CANCELLED", time.perf_counter_ns() - start)
            raise

    def unsupported(self, what: str) -> RequestError:
        """Return the error of a kind of request that is for models of another kind."""
        return RequestError(ErrorKind.UNSUPPORTED, f"model `{self.name}` {what}")
