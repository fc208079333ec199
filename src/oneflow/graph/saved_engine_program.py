"""A program of a saved graph that an engine runs."""

from __future__ import annotations

import importlib.util
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.graph.engines import ENGINES, Engine, EngineProgram, UnsupportedByEngine
from oneflow.runtime.memory import wrap_array


def installed_engine(package: str) -> Engine | None:
    """Return the engine of a package; None, with a warning, if it is not installed here.

    Raises:
        ValueError: there is no such engine.
    """
    engine = next((candidate for candidate in ENGINES if candidate.package == package), None)
    if engine is None or engine.connector is None:
        raise ValueError(f"there is no engine {package!r}")
    if importlib.util.find_spec(package) is None:
        warnings.warn(
            f"the graph was saved to run in {engine.name}; the package `{package}` is not "
            "installed, and XLA runs it",
            stacklevel=6,
        )
        return None
    return engine


class SavedEngineProgram:
    """A program that an engine runs; called as `ImportedProgram` is, without run-time numbers.

    It is compiled by the first call, with the weights of that call, which are always the same.

    Args:
        engine: the engine.
        content: the program, as the engine's connector wrote it.
        weights: the number of inputs, the last ones, that are weights.
        device: the device of its results.
        in_xla: the same program; runs if the engine refuses it.
    """

    def __init__(
        self,
        engine: Engine,
        content: bytes,
        weights: int,
        device: Device,
        in_xla: Callable[..., list[Any]],
    ) -> None:
        self._engine = engine
        self._content = content
        self._weights = weights
        self._device = device
        self._in_xla = in_xla
        # Engines run one call at a time.
        self._lock = threading.Lock()
        self._program: EngineProgram | None = None
        self._is_refused = False

    def __call__(
        self, arrays: Sequence[Any], floats: Sequence[float], integers: Sequence[int]
    ) -> list[Any]:
        """Return the outputs on the device."""
        outputs = self.run_arrays(arrays, floats, integers)
        return (
            [wrap_array(output, self._device) for output in outputs] if self._program else outputs
        )

    def run_arrays(
        self, arrays: Sequence[Any], floats: Sequence[float], integers: Sequence[int]
    ) -> list[Any]:
        """Return the outputs: NumPy arrays, or XLA's if it runs the program."""
        first = len(arrays) - self._weights
        with self._lock:
            if self._program is None and not self._is_refused:
                self._compile({n: np.asarray(arrays[n]) for n in range(first, len(arrays))})
            if self._program is not None:
                results = self._program(list(map(np.asarray, arrays[:first])))
                return list(map(np.array, results))  # the next call overwrites the engine's
        return self._in_xla(arrays, floats, integers)

    def _compile(self, weights: dict[int, np.ndarray]) -> None:
        try:
            self._program = self._engine.connect().load_program(self._content, weights)
        except UnsupportedByEngine as error:
            self._is_refused = True
            warnings.warn(f"XLA runs a saved graph: {error}", stacklevel=2)
