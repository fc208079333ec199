"""Executables as portable bytes: StableHLO with JAX's own wrapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from oneflow.compiler.lower import Executable


def to_bytes(executable: Executable) -> bytes:
    """A program that can be run where this package's primitives are not known.

    Raises:
        RuntimeError: the package `flatbuffers` is missing.
    """

    def portable(*arguments: Any) -> list[Any]:
        outputs, rows = executable.sorted_results(executable.trace(*arguments))
        return outputs if rows is None else [*outputs, rows]

    exported = export.export(jax.jit(portable))(*executable.abstract_inputs())
    try:
        return bytes(exported.serialize())
    except ImportError as error:
        raise RuntimeError(
            "saving a graph needs the package `flatbuffers`: pip install oneflow-xla[serving]"
        ) from error


class ImportedProgram:
    """A program made by `to_bytes`, ready to run.

    Raises:
        RuntimeError: the bytes are damaged, or were saved for another kind of device.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._exported = export.deserialize(bytearray(content))
        except ImportError as error:
            raise RuntimeError(
                "loading a graph needs the package `flatbuffers`: pip install oneflow-xla[serving]"
            ) from error
        except Exception as error:
            raise RuntimeError(f"the saved program is damaged ({error})") from error
        platform = jax.default_backend()
        if platform not in self._exported.platforms:
            raise RuntimeError(
                f"the program was saved for {', '.join(self._exported.platforms)}, and this "
                f"machine runs on {platform}"
            )
        self._run = jax.jit(self._exported.call)

    def __call__(
        self, arrays: Sequence[Any], floats: Sequence[float], integers: Sequence[int]
    ) -> list[Any]:
        """The outputs; the last is the table of run-time checks if the program has any."""
        vectors: list[np.ndarray] = []
        if floats:
            vectors.append(np.array(floats, np.float64))
        if integers:
            vectors.append(np.array(integers, np.int64))
        return list(self._run(*arrays, *vectors))
