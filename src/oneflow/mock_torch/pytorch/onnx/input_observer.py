"""Names of ``torch.onnx`` for what a module, or its calls, say about an export."""

from oneflow.mock_torch.missing import Missing


class ExportableModule(Missing):
    """The type of modules that name their own inputs, outputs and sizes for an export."""

    _reason = "give the inputs and `dynamic_shapes` to `torch.onnx.export`"


class InputObserver(Missing):
    """The type of what infers arguments and sizes of an export from calls."""

    _reason = "give the inputs and `dynamic_shapes` to `torch.onnx.export`"
