"""``torch.onnx.export``, with all arguments that PyTorch's has."""

from __future__ import annotations

import enum
import os
from typing import Any

import oneflow as flow
from oneflow.mock_torch.missing import raise_missing

# Options that change the model that is written, and the values with which nothing is missing.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "custom_translation_table": (None, {}),
    "export_modules_as_functions": (False, set(), [], ()),
    "export_params": (True,),
    "keep_initializers_as_inputs": (False, None),
}
# Options that say how PyTorch finds, checks or reports the same model.
_WITHOUT_EFFECT = frozenset(
    [
        "artifacts_dir",
        "autograd_inlining",
        "custom_opsets",
        "do_constant_folding",
        "dump_exported_program",
        "dynamo",
        "enable_onnx_checker",
        "example_outputs",
        "fallback",
        "operator_export_type",
        "optimize",
        "profile",
        "report",
        "strip_doc_string",
        "use_external_data_format",
        "verbose",
        "verify",
    ]
)


class TrainingMode(enum.IntEnum):
    """Values of `training`: the mode of the modules that are exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class ONNXProgram:
    """An exported model.

    Attributes:
        model_proto: the model, as the package `onnx` has it.
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: str | os.PathLike[str], **options: Any) -> None:
        """Write the model to a file.

        Args:
            destination: its path.
            options: accepted; weights are in the same file.
        """
        with open(destination, "wb") as file:
            file.write(self.model_proto.SerializeToString())


def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> ONNXProgram | None:
    """Export a model to ONNX.

    Args:
        model: the model.
        args: example arguments.
        f: the file or the path to write to; None: return the model.
        options: those of `oneflow.onnx.export`, and those by which PyTorch is told how to find,
            check or report the same model, which change nothing.

    Raises:
        NotImplementedError: an option asks for another model, as one without its parameters.
        TypeError: there is no such option.

    Example:
        >>> import io
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> file = io.BytesIO()
        >>> torch.onnx.export(
        ...     torch.nn.ReLU(), torch.ones(2), file, export_params=True, do_constant_folding=True
        ... )
        >>> len(file.getvalue()) > 0
        True
    """
    for name, accepted in _REFUSED.items():
        value = options.pop(name, accepted[0])
        if not any(value == choice for choice in accepted):
            raise_missing("torch.onnx.export", f"`{name}` must be {accepted[0]}, got {value!r}")
    effective = {name: value for name, value in options.items() if name not in _WITHOUT_EFFECT}
    arguments = args if isinstance(args, tuple) else (args,)
    if f is not None and not hasattr(f, "write"):
        return flow.onnx.export(model, arguments, f, **effective)
    program = ONNXProgram(flow.onnx.export(model, arguments, **effective))
    if f is None:
        return program
    f.write(program.model_proto.SerializeToString())
    return None


__all__ = ["ONNXProgram", "TrainingMode", "export"]
