"""The backend `oneflow` of Triton: the code of each process that serves a saved graph.

Triton imports this file from ``backends/oneflow/model.py``, which `oneflow.serving.triton.export`
writes, in Python processes of its own. A model's folder holds `config.pbtxt` and a saved graph for
each version.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.serving.concat import join, run_error, split
from oneflow.serving.errors import ErrorKind, RequestError
from oneflow.serving.model_graph import Bucket, ModelGraph
from oneflow.serving.triton.tensors import read_tensor, write_tensor


class TritonPythonModel:
    """An instance of a model; Triton looks for this name and these methods."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the saved graph and compile its programs.

        Args:
            args: what Triton says of the model: its folder, its version, its configuration.
        """
        # It exists inside of Triton's processes only.
        self._triton: Any = importlib.import_module("triton_python_backend_utils")
        config = json.loads(args["model_config"])
        folder = Path(args["model_repository"]) / args["model_version"]
        self._graph = ModelGraph(folder, int(config["max_batch_size"]))
        self._graph.warm_up()

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer requests, all that the same programs take in one run.

        Args:
            requests: the requests that Triton has batched.
        """
        results: list[Any] = [None] * len(requests)
        groups: dict[int, list[tuple[int, Bucket, int, list[np.ndarray]]]] = {}
        for index, request in enumerate(requests):
            try:
                arrays = {
                    spec.name: read_tensor(self._triton, request, spec)
                    for spec in self._graph.inputs
                }
                bucket, rows = self._graph.bucket_for(arrays)
            except RequestError as error:
                results[index] = self._error(error)
                continue
            entry = index, bucket, rows, list(arrays.values())
            groups.setdefault(id(bucket), []).append(entry)
        for group in groups.values():
            for index, answer in self._run(group):
                results[index] = answer
        return results

    def _run(
        self, group: Sequence[tuple[int, Bucket, int, list[np.ndarray]]]
    ) -> list[tuple[int, Any]]:
        """Run requests together; if that fails, each alone, so that each has its own error."""
        indices, buckets, rows, arrays = zip(*group, strict=True)
        try:
            size = buckets[0].size_for(sum(rows))
            outputs = self._graph.run(buckets[0], size, join(arrays, size))
        except Exception as error:
            if len(group) > 1:
                return [answer for request in group for answer in self._run([request])]
            return [(indices[0], self._error(run_error(error)))]
        parts = split(outputs, list(rows))
        return [(index, self._answer(part)) for index, part in zip(indices, parts, strict=True)]

    def _answer(self, arrays: Sequence[np.ndarray]) -> Any:
        tensors = [
            write_tensor(self._triton, spec.name, array)
            for spec, array in zip(self._graph.outputs, arrays, strict=True)
        ]
        return self._triton.InferenceResponse(tensors)

    def _error(self, error: RequestError) -> Any:
        codes = self._triton.TritonError
        is_invalid = error.kind is ErrorKind.INVALID
        failure = codes(str(error), codes.INVALID_ARG if is_invalid else codes.INTERNAL)
        return self._triton.InferenceResponse(error=failure)
