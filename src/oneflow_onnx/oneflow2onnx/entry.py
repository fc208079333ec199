"""`export` by either signature: PyTorch's, or OneFlow 0.3's."""

from __future__ import annotations

import os
from typing import Any

from oneflow_onnx.oneflow2onnx.flow2onnx import Export
from oneflow_onnx.oneflow2onnx.torch_signature import export as export_by_torch_signature


def export(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Export a model; see `oneflow.onnx.export`."""
    is_early = "model_save_dir" in kwargs or "onnx_filename" in kwargs
    if is_early or (args and isinstance(args[0], str | os.PathLike | None)):
        return Export(model, *args, **kwargs)
    return export_by_torch_signature(model, *args, **kwargs)
