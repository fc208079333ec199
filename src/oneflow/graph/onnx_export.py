"""`oneflow.onnx.export`, which an entry point of the package for ONNX provides."""

from __future__ import annotations

from typing import Any

from oneflow.base.extras import extra
from oneflow.graph.entry_points import load_entry_point


def export(model: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Export a model to ONNX.

    Two signatures are known: that of PyTorch (`model, args, f, ...`), described at
    `oneflow_onnx.oneflow2onnx.torch_signature.export`, and that of OneFlow 0.3
    (`graph, model_save_dir, onnx_filename, ...`), at `oneflow_onnx.oneflow2onnx.flow2onnx.Export`;
    a second argument that is a path makes it the latter.

    Args:
        model: an `nn.Graph`, an `nn.Module`, a job or a function of tensors; OneFlow 0.3 named the
            argument `job_func`.
        args: the same as in one of these.
        kwargs: the same as in one of these.

    Returns:
        The ONNX model, if no file was given.

    Raises:
        ModuleNotFoundError: the packages for ONNX are not installed.
        TypeError: there is no model.

    Example:
        >>> import oneflow as flow
        >>> proto = flow.onnx.export(flow.nn.Linear(3, 4), flow.randn(2, 3))
        >>> [value.name for value in proto.graph.input]
        ['input']
    """
    model = kwargs.pop("job_func", model)
    if model is None:
        raise TypeError("export() needs a model")
    with extra("onnx", "export to ONNX"):
        export_model = load_entry_point("oneflow.onnx", "export")
    return export_model(model, *args, **kwargs)
