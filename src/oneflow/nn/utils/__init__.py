"""Utilities for modules and their parameters."""

from oneflow.functional.gradient_clipping import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
)
from oneflow.nn.utils import rnn as rnn
