"""Names that ``torch.onnx`` has beside `oneflow.onnx`."""

from oneflow.mock_torch.pytorch.onnx.errors import OnnxExporterError as OnnxExporterError
from oneflow.mock_torch.pytorch.onnx.exporting import (
    ONNXProgram as ONNXProgram,
    TrainingMode as TrainingMode,
    export as export,
)
from oneflow.mock_torch.pytorch.onnx.input_observer import (
    ExportableModule as ExportableModule,
    InputObserver as InputObserver,
)
from oneflow.mock_torch.pytorch.onnx.symbolic_registry import (
    TensorProtoDataType as TensorProtoDataType,
    register_custom_op_symbolic as register_custom_op_symbolic,
)
