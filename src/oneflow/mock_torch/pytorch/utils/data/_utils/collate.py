"""Names of ``torch.utils.data._utils.collate``."""

import re

from oneflow.data.collate import (
    COLLATE_FUNCTIONS as default_collate_fn_map,
    collate_tensor_fn,
    default_collate,
    default_convert,
)

# The type codes of NumPy's arrays of texts and of objects, which make no tensors.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

__all__ = [
    "collate_tensor_fn",
    "default_collate",
    "default_collate_err_msg_format",
    "default_collate_fn_map",
    "default_convert",
    "np_str_obj_array_pattern",
]
