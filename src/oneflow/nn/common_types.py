"""Types of sizes, under the names of upstream and PyTorch."""

from oneflow.base.sizes import (
    Ratio2 as _ratio_2_t,
    Ratio3 as _ratio_3_t,
    Ratios as _ratio_any_t,
    Size1 as _size_1_t,
    Size2 as _size_2_t,
    Size3 as _size_3_t,
    Size4 as _size_4_t,
    Size5 as _size_5_t,
    Size6 as _size_6_t,
    Sizes as _size_any_t,
)

__all__ = [
    "_ratio_2_t",
    "_ratio_3_t",
    "_ratio_any_t",
    "_size_1_t",
    "_size_2_t",
    "_size_3_t",
    "_size_4_t",
    "_size_5_t",
    "_size_6_t",
    "_size_any_t",
]
