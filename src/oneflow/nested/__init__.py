"""Nested tensors: tensors of as many dimensions and different sizes, held as one.

Batches of sequences without padding. Elements lie in one tensor of the ordinary kind, so that
gradients and all devices are its own.
"""

from oneflow.nested import dispatch as dispatch
from oneflow.nested.creation import (
    as_nested_tensor as as_nested_tensor,
    masked_select as masked_select,
    narrow as narrow,
    nested_tensor as nested_tensor,
    nested_tensor_from_jagged as nested_tensor_from_jagged,
)
from oneflow.nested.padding import to_padded_tensor as to_padded_tensor
from oneflow.nested.tensor import NestedTensor as NestedTensor

__all__ = [
    "NestedTensor",
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]
