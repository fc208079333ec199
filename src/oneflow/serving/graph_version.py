"""A version of a model that answers each request once, in batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.serving.batching import Batcher, BatchingOptions, PendingRequest
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.generation import GenerationRequest
from oneflow.serving.model_config import complete_config, has_batching, has_indexed_tensors
from oneflow.serving.model_graph import ModelGraph
from oneflow.serving.model_version import ModelVersion


def load_graph(folder: Path, name: str, config: Any) -> tuple[ModelGraph, Any]:
    """Load a saved graph and compile its programs; takes a while.

    Args:
        folder: the saved graph.
        name: the name of the model.
        config: its configuration, as `read_config` returns it.

    Returns:
        The model and its complete configuration.

    Raises:
        ValueError: the graph cannot be served, or the configuration is for another one.
        RuntimeError: the graph is damaged, or was saved for another kind of device.
    """
    graph = ModelGraph(folder, config.max_batch_size if has_batching(config) else None)
    if has_indexed_tensors(config):
        graph.number_tensors()
    complete = complete_config(config, name, graph)
    graph.warm_up()
    return graph, complete


class GraphVersion(ModelVersion):
    """A version of a model that is a function of tensors.

    Args:
        name: the name of the model.
        version: its number.
        config: its complete configuration.
        graph: the model.
        labels: names of classes, see `ModelVersion`.
    """

    def __init__(
        self,
        name: str,
        version: int,
        config: Any,
        graph: ModelGraph,
        labels: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__(name, version, config, labels)
        self.inputs, self.outputs = graph.inputs, graph.outputs
        self._graph = graph
        batching = config.dynamic_batching
        policy = batching.default_queue_policy
        self._timeout = policy.default_timeout_microseconds / 1e6 or None
        options = BatchingOptions(
            sum(group.count for group in config.instance_group),
            batching.max_queue_delay_microseconds / 1e6,
            policy.max_queue_size,
        )
        self._batcher = Batcher(f"{name}-{version}", graph, options, self.statistics)

    @property
    def waiting(self) -> int:
        """The number of requests in the queue."""
        return self._batcher.waiting

    async def infer(
        self, arrays: Mapping[str, np.ndarray], timeout: float | None = None
    ) -> list[np.ndarray]:
        """Return the outputs for some inputs, see `ModelVersion.infer`."""
        with self.count_failures():
            return await self._infer(arrays, timeout or self._timeout)

    async def _infer(
        self, arrays: Mapping[str, np.ndarray], timeout: float | None
    ) -> list[np.ndarray]:
        bucket, rows = self._graph.bucket_for(arrays)
        pending = PendingRequest(
            bucket,
            rows,
            [arrays[spec.name] for spec in self.inputs],
            asyncio.get_running_loop().create_future(),
            None if timeout is None else time.monotonic() + timeout,
        )
        if timeout is None:
            return await self._batcher.infer(pending)
        try:
            async with asyncio.timeout(timeout):
                return await self._batcher.infer(pending)
        except TimeoutError:
            raise RequestError(ErrorKind.EXPIRED, f"no answer within {timeout:g} s") from None

    def generate(self, request: GenerationRequest) -> AsyncGenerator[int]:
        """Refuse: this model gives one answer to a request."""
        raise self.unsupported("gives one answer to a request; ask it with `infer`")

    async def close(self) -> None:
        """Answer the requests in the queue, then end."""
        await self._batcher.close()
