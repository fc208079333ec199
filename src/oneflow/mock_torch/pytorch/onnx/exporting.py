"""``torch.onnx.export``, with all arguments that PyTorch's has."""

from __future__ import annotations

import enum
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow.base.extras import DeferredModule
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves

_USER = "an exported model"
onnx = DeferredModule("onnx", "onnx", _USER)
onnx_ir = DeferredModule("onnx_ir", "onnx", _USER)
onnxruntime = DeferredModule("onnxruntime", "onnx", _USER)
reference = DeferredModule("onnx.reference", "onnx", _USER)

# Options that change the model that is written, and the values with which nothing is missing.
_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
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
        self._session: Any = None

    @functools.cached_property
    def model(self) -> Any:
        """The model, as the package `onnx-ir` has it."""
        return onnx_ir.from_proto(self.model_proto)

    def save(self, destination: str | os.PathLike[str], **options: Any) -> None:
        """Write the model to a file.

        Args:
            destination: its path.
            options: accepted; weights are in the same file.
        """
        _write(self, destination)

    def optimize(self) -> None:
        """Do nothing: models are written optimized."""

    def initialize_inference_session(self, **options: Any) -> None:
        """Prepare the calls.

        Args:
            options: accepted; the session is ONNX Runtime's on the CPU.
        """
        self._session = onnxruntime.InferenceSession(
            self.model_proto.SerializeToString(), providers=["CPUExecutionProvider"]
        )

    def release(self) -> None:
        """Forget the session of the calls."""
        self._session = None

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model by ONNX Runtime.

        Args:
            args: tensors, nested in lists, tuples and dicts, for the inputs in order.
            kwargs: the arguments for the inputs of these names, and further ones.

        Returns:
            A tuple of tensors.
        """
        return self._results(self._run_session, args, kwargs)

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model by the evaluator of the package `onnx`, which is slow and exact."""
        evaluator = reference.ReferenceEvaluator(self.model_proto)
        return self._results(lambda inputs: evaluator.run(None, inputs), args, kwargs)

    def _run_session(self, inputs: dict[str, Any]) -> list[Any]:
        if self._session is None:
            self.initialize_inference_session()
        session: Any = self._session
        return session.run(None, inputs)

    def _results(self, run: Callable, args: tuple, kwargs: dict) -> tuple[Any, ...]:
        names = [info.name for info in self.model_proto.graph.input]
        by_name = {name: value for name, value in kwargs.items() if name in names}
        others = {name: value for name, value in kwargs.items() if name not in names}
        leaves = tree_leaves((args, others))
        tensors = [leaf for leaf in leaves if isinstance(leaf, flow.Tensor)]
        remaining = [name for name in names if name not in by_name]
        if len(tensors) != len(remaining):
            raise ValueError(
                f"the exported model has {len(names)} inputs, {', '.join(names)}; got "
                f"{len(tensors) + len(by_name)} tensors"
            )
        inputs = by_name | dict(zip(remaining, tensors, strict=True))
        results = run({name: tensor.detach().cpu().numpy() for name, tensor in inputs.items()})
        return tuple([flow.as_tensor(result) for result in results])


def _write(program: ONNXProgram, destination: Any) -> None:
    data = program.model_proto.SerializeToString()
    if hasattr(destination, "write"):
        destination.write(data)
    else:
        Path(destination).write_bytes(data)


def export(
    model: Any, args: Any = (), f: Any = None, *, dynamo: bool = True, **options: Any
) -> ONNXProgram | None:
    """Export a model to ONNX.

    Args:
        model: the model.
        args: example arguments.
        f: the file or the path to write to; None: return the model alone.
        dynamo: False: return nothing, as PyTorch's old exporter.
        options: the options of `oneflow.onnx.export`, and those by which PyTorch is told how to
            find, check or report the same model, which change nothing.

    Returns:
        The exported model; None if it was written by ``dynamo=False``.

    Raises:
        NotImplementedError: an option asks for another model, as one without its parameters.
        TypeError: there is no such option.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> program = torch.onnx.export(torch.nn.ReLU(), torch.ones(2), do_constant_folding=True)
        >>> program(torch.tensor([-1.0, 2.0]))[0].tolist()
        [0.0, 2.0]
    """
    for name, accepted in _UNSUPPORTED.items():
        value = options.pop(name, accepted[0])
        if not any(value == choice for choice in accepted):
            raise_missing("torch.onnx.export", f"`{name}` must be {accepted[0]}, got {value!r}")
    effective = {name: value for name, value in options.items() if name not in _WITHOUT_EFFECT}
    arguments = args if isinstance(args, tuple) else (args,)
    if f is None or hasattr(f, "write"):
        proto = flow.onnx.export(model, arguments, **effective)
        if f is not None:
            _write(ONNXProgram(proto), f)
    else:
        flow.onnx.export(model, arguments, f, **effective)
        if not dynamo:
            return None
        proto = onnx.load(f)  # now: the path may hold another model when the program is called
    return ONNXProgram(proto) if dynamo or f is None else None


__all__ = ["ONNXProgram", "TrainingMode", "export"]
