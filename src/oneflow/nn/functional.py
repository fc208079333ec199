"""Layers and losses as functions: re-exported from `oneflow.functional`."""

from oneflow.functional.activation import (
    log_softmax as log_softmax,
    relu as relu,
    softmax as softmax,
)
from oneflow.functional.dense import linear as linear
from oneflow.functional.loss import cross_entropy as cross_entropy
