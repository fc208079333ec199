"""Utilities around training."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
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

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)
