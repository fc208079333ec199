"""Logs for TensorBoard, written by the package tensorboardX."""

from __future__ import annotations

import contextlib
import functools
import importlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oneflow.base.extras import extra
from oneflow.graph.onnx_export import export
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class SummaryWriter:
    """A writer of logs: `tensorboardX.SummaryWriter`, whose methods take tensors here.

    Args:
        log_dir: the folder of the logs; by default one in ``runs``.
        comment: the end of the default folder's name.
        options: further arguments of `tensorboardX.SummaryWriter`.

    Raises:
        ModuleNotFoundError: tensorboardX is not installed.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> from oneflow.utils.tensorboard import SummaryWriter
        >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
        ...     writer.add_scalar("loss", flow.tensor(0.5), global_step=1)
        ...     writer.add_histogram("weights", flow.ones(3), global_step=1)
    """

    def __init__(self, log_dir: Any = None, comment: str = "", **options: Any) -> None:
        # Imported when it is needed: it imports PyTorch if that is installed.
        with extra("tensorboard", "`SummaryWriter`"):
            library = importlib.import_module("tensorboardX")
        folder = None if log_dir is None else str(log_dir)
        self._writer = library.SummaryWriter(folder, comment, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")
        found = getattr(self._writer, name)
        return functools.partial(_call, found) if callable(found) else found

    def __enter__(self) -> SummaryWriter:
        """Return the writer, which is closed at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()

    def add_graph(self, model: Module, input_to_model: Any = None, **options: Any) -> None:
        """Add the graph of a module, which is exported to ONNX for it.

        Args:
            model: the module.
            input_to_model: its argument, or a tuple of them.
            options: accepted for PyTorch's sake.
        """
        given = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            export(model, given, file)
            with contextlib.redirect_stdout(None):  # tensorboardX lists what it finds
                self._writer.add_onnx_graph(str(file))


def _call(method: Any, *args: Any, **kwargs: Any) -> Any:
    return method(*_as_arrays(args), **_as_arrays(kwargs))


def _as_arrays(value: Any) -> Any:
    """Replace tensors by arrays, in tuples, lists and mappings, too."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, Mapping):
        return {key: _as_arrays(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_as_arrays, value))
    return list(map(_as_arrays, value)) if isinstance(value, list) else value
