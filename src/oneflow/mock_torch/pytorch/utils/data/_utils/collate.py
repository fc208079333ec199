"""Names of ``torch.utils.data._utils.collate``."""

import re
from collections.abc import Sequence
from typing import Any

from oneflow.data.collate import (
    COLLATE_FUNCTIONS as default_collate_fn_map,
    collate,
    collate_tensor_fn,
    default_collate,
    default_convert,
)

# The type codes of NumPy's arrays of texts and of objects, which make no tensors.
np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate_values(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Numbers, arrays or texts as a batch."""
    return default_collate(batch)


collate_float_fn = collate_int_fn = collate_values
collate_numpy_array_fn = collate_numpy_scalar_fn = collate_str_fn = collate_values

__all__ = [
    "collate",
    "collate_float_fn",
    "collate_int_fn",
    "collate_numpy_array_fn",
    "collate_numpy_scalar_fn",
    "collate_str_fn",
    "collate_tensor_fn",
    "default_collate",
    "default_collate_err_msg_format",
    "default_collate_fn_map",
    "default_convert",
    "np_str_obj_array_pattern",
]
