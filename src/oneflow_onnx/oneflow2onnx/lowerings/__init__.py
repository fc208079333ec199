"""Primitives written in ONNX, one file per family; importing it fills the table."""

from oneflow_onnx.oneflow2onnx.lowerings import (
    activation as activation,
    comparison as comparison,
    composites as composites,
    convolution as convolution,
    creation as creation,
    detection as detection,
    elementwise as elementwise,
    indexing as indexing,
    linalg as linalg,
    matmul as matmul,
    movement as movement,
    normalization as normalization,
    ordering as ordering,
    pooling as pooling,
    random as random,
    recurrent as recurrent,
    reduction as reduction,
    resampling as resampling,
    special as special,
)
