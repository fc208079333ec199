"""Logs for TensorBoard, written by the package tensorboardX."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import re
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
        attribute = getattr(self._writer, name)
        return functools.partial(_call, attribute) if callable(attribute) else attribute

    def __enter__(self) -> SummaryWriter:
        """Return the writer, which is closed at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add numbers that are drawn together, each in a folder of its own.

        Args:
            main_tag: the name of the drawing, and of the folder.
            tag_scalar_dict: the numbers by their names.
            global_step: the step.
            walltime: the time in seconds; by default the present.

        Raises:
            ValueError: a name leads out of the folder of the logs.
        """
        for tag in (main_tag, *tag_scalar_dict):
            _require_inside(tag)
        _call(self._writer.add_scalars, main_tag, tag_scalar_dict, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Add a run with its hyperparameters, in a folder of its own.

        Args:
            hparam_dict: the settings.
            metric_dict: the metrics that they led to.
            name: the name of the folder; by default the time.
            global_step: the step.

        Raises:
            ValueError: `name` leads out of the folder of the logs.
        """
        _require_inside(name or "")
        _call(self._writer.add_hparams, hparam_dict, metric_dict, name, global_step)

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Add vectors, which TensorBoard shows in two or three dimensions.

        Args:
            mat: a vector in each row.
            metadata: a label for each; with a header, a sequence of them.
            label_img: an image for each.
            global_step: the step.
            tag: the name of the vectors.
            metadata_header: the names of labels.
        """
        labels = None if metadata is None else [_as_cells(array) for array in _as_arrays(metadata)]
        header = None if metadata_header is None else _as_cells(list(metadata_header))
        # The file that lists embeddings is text, in which the name stands in quotes.
        escaped = json.dumps(tag)[1:-1]
        _call(self._writer.add_embedding, mat, labels, label_img, global_step, escaped, header)

    def add_graph(self, model: Module, input_to_model: Any = None, **options: Any) -> None:
        """Add the graph of a module, which is exported to ONNX for it.

        Args:
            model: the module.
            input_to_model: its argument, or a tuple of them.
            options: accepted for PyTorch's sake.
        """
        operands = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            export(model, operands, file)
            with contextlib.redirect_stdout(None):  # tensorboardX lists what it finds
                self._writer.add_onnx_graph(str(file))


def _require_inside(name: str) -> None:
    """Refuse the name of a folder that would lead out of the one around it."""
    if os.path.isabs(name) or ".." in re.split(r"[/\\]", name):
        raise ValueError(
            f"{name!r} names a folder of logs: it must not begin with `/` nor have `..` between"
            " slashes"
        )


def _as_cells(label: Any) -> Any:
    """A label, or a row of them, without what would begin another cell or row."""
    if isinstance(label, list | tuple):
        return [_as_cells(cell) for cell in label]
    return " ".join(re.split(r"[\t\r\n]", str(label)))


def _call(method: Any, *args: Any, **kwargs: Any) -> Any:
    return method(*_as_arrays(args), **_as_arrays(kwargs))


def _as_arrays(value: Any) -> Any:
    """Replace tensors by arrays, in tuples, lists and mappings, too."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, Mapping):
        return {key: _as_arrays(array) for key, array in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_as_arrays, value))
    return list(map(_as_arrays, value)) if isinstance(value, list) else value
