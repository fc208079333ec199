"""Operators of ONNX, by family; importing this package fills the table."""

from oneflow_onnx.x2oneflow.operators import (
    activations as activations,
    arrays as arrays,
    control_flow as control_flow,
    conversion as conversion,
    convolution as convolution,
    detection as detection,
    elementwise as elementwise,
    host as host,
    indexing as indexing,
    losses as losses,
    normalization as normalization,
    optimizers as optimizers,
    pooling as pooling,
    quantization as quantization,
    random as random,
    recurrent as recurrent,
    reductions as reductions,
    resizing as resizing,
    sequences as sequences,
    signal as signal,
)
