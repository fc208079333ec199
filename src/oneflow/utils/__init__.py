"""Utilities around training."""

from oneflow.utils import (
    checkpoint as checkpoint,
    data as data,
    global_view as global_view,
    hooks as hooks,
    model_zoo as model_zoo,
    tensor as tensor,
    vision as vision,
)
from oneflow.utils.tensor import from_torch as from_torch, to_torch as to_torch
