"""Backends that may run a graph in place of XLA, and what is missing for that."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass

from oneflow.cuda.devices import is_available


@dataclass(frozen=True)
class Backend:
    """One backend.

    Attributes:
        name: as its makers write it.
        package: the Python package; the option is called after it.
        needs_gpu: whether it runs on GPUs only.
        training: graphs with optimizers may ask for it.
    """

    name: str
    package: str
    needs_gpu: bool
    training: bool

    def check(self, training: bool) -> None:
        """Warn if the backend is not installed: XLA runs the graph then.

        Raises:
            RuntimeError: it is installed, but cannot run the graph; or it never trains.
        """
        option = f"config.enable_{self.package}"
        if training and not self.training:
            raise RuntimeError(
                f"{self.name} runs inference only, and this graph has an optimizer; "
                f"call {option}(False)"
            )
        if importlib.util.find_spec(self.package) is None:
            warnings.warn(
                f"{option}: the package `{self.package}` is not installed; XLA runs the graph",
                stacklevel=5,
            )
            return
        missing = "graphs to be handed to it, which does not happen yet"
        if self.needs_gpu and not is_available():
            missing = "a GPU, and there is none"
        raise RuntimeError(
            f"{option}: {self.name} is installed but needs {missing}; "
            f"call {option}(False), and XLA runs the graph"
        )


BACKENDS = (
    Backend("TensorRT", "tensorrt", needs_gpu=True, training=True),
    Backend("OpenVINO", "openvino", needs_gpu=False, training=False),
)
