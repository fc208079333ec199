"""Engines that may run a graph in place of XLA, and the requirements that are missing."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType, bool_, float16, float32, int32
from oneflow.base.extras import extra
from oneflow.cuda.devices import is_available
from oneflow.graph.captured_step import CapturedStep
from oneflow.graph.entry_points import load_entry_point
from oneflow.program.ir import Program

# A compiled program of an engine. Its results are overwritten by the next call.
EngineProgram = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


class UnsupportedByEngine(Exception):
    """An engine cannot compile a program; the message says why."""


class Connector(Protocol):
    """A module that hands programs to an engine: an entry point of the group `oneflow.engines`."""

    def compile_program(
        self, program: Program, numbers: Sequence[Any], weights: Mapping[int, Any]
    ) -> EngineProgram:
        """Compile a program.

        Args:
            program: the program.
            numbers: its Python numbers, which are always the same.
            weights: arrays that are always the same, by number of the input.

        Returns:
            A function from its other inputs, in order, to its outputs.

        Raises:
            UnsupportedByEngine: the engine lacks an operator, or ONNX does.
        """
        ...

    def write_program(
        self, program: Program, numbers: Sequence[Any], weights: Collection[int]
    ) -> bytes:
        """Return a program as the content of a file, without its weights.

        Args:
            program: the program.
            numbers: its Python numbers, which are always the same.
            weights: the inputs that are weights, by number.

        Raises:
            UnsupportedByEngine: ONNX cannot express it.
        """
        ...

    def load_program(self, content: bytes, weights: Mapping[int, np.ndarray]) -> EngineProgram:
        """Compile a program from a file.

        Args:
            content: what `write_program` returned.
            weights: the weights, by number of the input.

        Raises:
            UnsupportedByEngine: the engine cannot compile it.
        """
        ...


@dataclass(frozen=True)
class Engine:
    """An engine.

    Attributes:
        name: as its makers write it.
        package: the Python package; the option is called after it.
        needs_gpu: it runs on GPUs only.
        training: graphs with optimizers may ask for it.
        connector: the entry point of the module that hands programs to it; None: there is none
            yet.
        dtypes: the dtypes with which it computes as XLA does.
    """

    name: str
    package: str
    needs_gpu: bool
    training: bool
    connector: str | None = None
    dtypes: frozenset[DType] = frozenset()

    @property
    def option(self) -> str:
        """The method that asks for it."""
        return f"config.enable_{self.package}"

    def check(self, training: bool) -> bool:
        """Return whether the engine is there; if it is not, warn that XLA runs the graph.

        Raises:
            RuntimeError: it is installed, but cannot run here; or it never trains.
        """
        if training and not self.training:
            raise RuntimeError(
                f"{self.name} runs inference only, and this graph has an optimizer; "
                f"call {self.option}(False)"
            )
        if importlib.util.find_spec(self.package) is None:
            warnings.warn(
                f"{self.option}: the package `{self.package}` is not installed; XLA runs the graph",
                stacklevel=5,
            )
            return False
        missing = None
        if self.needs_gpu and not is_available():
            missing = "a GPU, and there is none"
        elif self.connector is None:
            missing = "graphs to be handed to it, which does not happen yet"
        if missing is not None:
            raise RuntimeError(
                f"{self.option}: {self.name} is installed but needs {missing}; "
                f"call {self.option}(False), and XLA runs the graph"
            )
        return True

    def connect(self) -> Connector:
        """Import the module that hands programs to it.

        Raises:
            ModuleNotFoundError: the packages for ONNX are not installed.
        """
        assert self.connector is not None
        with extra("onnx", f"{self.option} hands graphs to {self.name} as ONNX, which"):
            connector: Any = load_entry_point("oneflow.engines", self.connector)
        return connector

    def unsupported_reason(self, captured: CapturedStep) -> str | None:
        """Return what keeps the engine from running a step, if anything does."""
        if not isinstance(captured.device, Device) or captured.device.type != "cpu":
            return f"it is on {captured.device}"
        outputs = captured.outputs
        if captured.updates or outputs.written or outputs.gradients:
            return "it changes buffers, parameters, arguments or gradients; call `eval()`"
        return None


ENGINES = (
    Engine("TensorRT", "tensorrt", needs_gpu=True, training=True),
    Engine(
        "OpenVINO",
        "openvino",
        needs_gpu=False,
        training=False,
        connector="openvino",
        # On the CPU it computes int64 in int32 and float64 in float32; its Python package does not
        # know NumPy's bfloat16.
        dtypes=frozenset([float32, float16, int32, bool_]),
    ),
)
