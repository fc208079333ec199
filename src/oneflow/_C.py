"""Functions under the path of upstream's builtins, and its fused operators."""

# Generated from the function registry by `tools/make_facades.py` (make stubs).
from oneflow.functional.creation.conversion import cast as cast
from oneflow.functional.elementwise.activation import gelu as gelu
from oneflow.functional.elementwise.arithmetic import add as add, mul as mul, sub as sub
from oneflow.functional.elementwise.division import div as div
from oneflow.functional.nn.dropout import dropout as dropout
from oneflow.functional.nn.elementwise_loss import (
    binary_cross_entropy as binary_cross_entropy_loss,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits_loss,
)
from oneflow.functional.nn.fused import (
    fused_bias_add_dropout as fused_bias_add_dropout,
    fused_bias_add_gelu as fused_bias_add_gelu,
    fused_scale_mask_softmax as fused_scale_mask_softmax,
    fused_scale_mask_softmax_dropout as fused_scale_mask_softmax_dropout,
    fused_scale_tril as fused_scale_tril,
    fused_scale_tril_softmax_mask_scale as fused_scale_tril_softmax_mask_scale,
)
from oneflow.functional.nn.loss import cross_entropy as cross_entropy
from oneflow.functional.nn.padding import pad as pad
from oneflow.functional.nn.softmax import log_softmax as log_softmax, softmax as softmax
from oneflow.functional.random.creation import randint as randint
from oneflow.functional.shape.reshape import reshape as reshape, transpose as transpose
