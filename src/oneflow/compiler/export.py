"""Executables as portable bytes: StableHLO with JAX's own wrapping."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import export

from oneflow.base.heap import HOLES
from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.compiler.lower import Executable
from oneflow.compiler.options import compiler_options
from oneflow.compiler.sharding import shardings
from oneflow.compiler.turns import run_in_turn


def to_bytes(executable: Executable) -> bytes:
    """A program that can be run where this package's primitives are not known.

    Raises:
        RuntimeError: the package `flatbuffers` is missing.
    """

    def portable(*arguments: Any) -> list[Any]:
        outputs, rows = executable.sorted_results(executable.function(*arguments))
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

    Args:
        content: the bytes.
        placement: where it runs, of as many devices as it was saved for; None for one device.
        inputs: what its arrays are, None for a vector of numbers.
        outputs: likewise; None for the table of run-time checks.
        convolves: the executable's.

    Raises:
        RuntimeError: the bytes are damaged, or were saved for another kind of device.
    """

    def __init__(
        self,
        content: bytes,
        placement: Placement | None,
        inputs: Sequence[TensorSpec | None],
        outputs: Sequence[TensorSpec | None],
        convolves: bool,
    ) -> None:
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
        self._waits = placement is not None and placement.type == "cpu"
        self._takes_turns = placement is None and platform == "cpu"
        where: dict[str, Any] = {}
        if placement is not None:
            where["in_shardings"], where["out_shardings"] = shardings(inputs, outputs, placement)
        self._traced = jax.jit(
            self._exported.call, compiler_options=compiler_options(platform, convolves), **where
        )

    @functools.cached_property
    def _run(self) -> Callable[..., Any]:
        """The program, compiled by the first call: a graph may be saved for many shapes."""
        compiled = self._traced.lower(*self._exported.in_avals).compile()
        HOLES.close()
        return run_in_turn(compiled) if self._takes_turns else compiled

    def __call__(
        self, arrays: Sequence[Any], floats: Sequence[float], integers: Sequence[int]
    ) -> list[Any]:
        """The outputs; the last is the table of run-time checks if the program has any."""
        vectors: list[np.ndarray] = []
        if floats:
            vectors.append(np.array(floats, np.float64))
        if integers:
            vectors.append(np.array(integers, np.int64))
        outputs = list(self._run(*arrays, *vectors))
        # As in `Executable`: programs of several devices of one CPU share its threads.
        return jax.block_until_ready(outputs) if self._waits else outputs
