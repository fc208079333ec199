"""A version of a model that continues sequences of tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base.dtype import int64
from oneflow.serving.continuous_batching import ContinuousBatcher
from oneflow.serving.generation import GenerationRequest
from oneflow.serving.generator_graph import GeneratorGraph
from oneflow.serving.model_config import complete_generator_config, max_length_of
from oneflow.serving.model_graph import ANY_SIZE, TensorSignature
from oneflow.serving.model_version import ModelVersion

INPUTS = (TensorSignature("tokens", int64, (ANY_SIZE,)),)
OUTPUTS = (TensorSignature("token", int64, (1,)),)


def load_generator(folder: Path, name: str, config: Any) -> tuple[GeneratorGraph, Any]:
    """Load a saved graph that generates and compile it; takes a while.

    Args:
        folder: the saved graph.
        name: the name of the model.
        config: its configuration, as `read_config` returns it.

    Returns:
        The graph and its complete configuration.

    Raises:
        ValueError: it is not such a graph, or the configuration is for another one.
        RuntimeError: the graph is damaged, or was saved for another kind of device.
    """
    complete = complete_generator_config(config, name, INPUTS, OUTPUTS)
    graph = GeneratorGraph(folder, max_length_of(complete))
    graph.warm_up()
    return graph, complete


class GeneratorVersion(ModelVersion):
    """A version of a model that answers a sequence with the tokens that continue it.

    Args:
        name: the name of the model.
        version: its number.
        config: its complete configuration.
        graph: the graph.
    """

    inputs, outputs = INPUTS, OUTPUTS

    def __init__(self, name: str, version: int, config: Any, graph: GeneratorGraph) -> None:
        super().__init__(name, version, config, {})
        queue_size = config.dynamic_batching.default_queue_policy.max_queue_size
        self._batcher = ContinuousBatcher(
            f"{name}-{version}", graph, max_length_of(config), queue_size, self.statistics
        )

    @property
    def waiting(self) -> int:
        """The number of sequences that wait for a place."""
        return self._batcher.waiting

    async def infer(
        self, arrays: Mapping[str, np.ndarray], timeout: float | None = None
    ) -> list[np.ndarray]:
        """Refuse: this model gives many answers to a request."""
        raise self.unsupported(
            "generates: ask it with `generate`, `generate_stream`, or in a stream of gRPC"
        )

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[int]:
        """Return the tokens that continue a sequence, see `ModelVersion.generate`."""
        with self.count_failures():
            async for token in self._batcher.generate(request):
                yield token

    async def close(self) -> None:
        """Answer the sequences that are there, then end."""
        await self._batcher.close()
