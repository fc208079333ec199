"""Operators that users register for job functions, and what was experimental once.

Names that OneFlow 0.4 tried here are in `oneflow`; other names are those of `oneflow`, too.
"""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.functional.shape.stack import slice_ as logical_slice
from oneflow.legacy.context import namespace as name_scope
from oneflow.legacy.job_set import get_job_set as get_job_set
from oneflow.legacy.single_client import __getattr__ as __getattr__
from oneflow.legacy.user_op import (
    custom_op_module as custom_op_module,
    register_user_op as register_user_op,
)
from oneflow.legacy_functions.top_level import square_sum as square_sum

# fmt: off
__all__ = [
    "custom_op_module", "get_job_set", "logical_slice", "name_scope", "register_user_op",
    "square_sum",
]
# fmt: on
