"""Operators that users register for job functions, and what was experimental once."""

from oneflow.functional.shape.stack import slice_ as logical_slice
from oneflow.legacy.user_op import (
    custom_op_module as custom_op_module,
    register_user_op as register_user_op,
)
