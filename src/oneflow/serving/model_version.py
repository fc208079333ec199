"""One version of a model, ready for requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.serving.batching import Batcher, BatchingOptions, Job
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.model_config import complete_config, is_batching_said
from oneflow.serving.served_graph import ServedGraph
from oneflow.serving.statistics import Statistics


def load_graph(folder: Path, name: str, config: Any) -> tuple[ServedGraph, Any]:
    """Load a saved graph and compile its programs; takes a while.

    Args:
        folder: the saved graph.
        name: of the model.
        config: its configuration, as `read_config` returns it.

    Returns:
        The model and its complete configuration.

    Raises:
        ValueError: the graph cannot be served, or the configuration is for another one.
        RuntimeError: the graph is damaged, or was saved for another kind of device.
    """
    graph = ServedGraph(folder, config.max_batch_size if is_batching_said(config) else None)
    complete = complete_config(config, name, graph)
    graph.warm_up()
    return graph, complete


class ModelVersion:
    """A model version with its queue and its statistics.

    Args:
        name: the name of the model.
        version: its number.
        graph: the model.
        config: its complete configuration.

    Attributes:
        statistics: what happened to it.
    """

    def __init__(self, name: str, version: int, graph: ServedGraph, config: Any) -> None:
        self.name = name
        self.version = version
        self.graph = graph
        self.config = config
        self.statistics = Statistics()
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
        """Return the outputs for some inputs, in the order of the graph's.

        Args:
            arrays: the inputs by name.
            timeout: the seconds after which nobody wants them any more.

        Raises:
            RequestError: the inputs are wrong, the queue is full, or time is over.
        """
        arrived = time.perf_counter_ns()
        try:
            return await self._infer(arrays, timeout or self._timeout)
        except RequestError as error:
            self.statistics.add_failure(error.kind.name, time.perf_counter_ns() - arrived)
            raise
        except asyncio.CancelledError:
            self.statistics.add_failure("CANCELLED", time.perf_counter_ns() - arrived)
            raise

    async def _infer(
        self, arrays: Mapping[str, np.ndarray], timeout: float | None
    ) -> list[np.ndarray]:
        bucket, rows = self.graph.bucket_for(arrays)
        job = Job(
            bucket,
            rows,
            [arrays[each.name] for each in self.graph.inputs],
            asyncio.get_running_loop().create_future(),
            None if timeout is None else time.monotonic() + timeout,
        )
        self._batcher.submit(job)
        try:
            if timeout is None:
                return await job.future
            async with asyncio.timeout(timeout):
                return await job.future
        except TimeoutError:
            raise RequestError(ErrorKind.EXPIRED, f"no answer within {timeout:g} s") from None
        finally:
            job.is_cancelled = job.future.cancelled()

    async def close(self) -> None:
        """Answer what is in the queue, then end."""
        await self._batcher.close()
