"""The distribution of a blob over the devices of its job."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.base.sbp import BROADCAST as broadcast, split as split
from oneflow.legacy.scope import (
    assert_is_valid_distribute as assert_is_valid_distribute,
    auto as auto,
    consistent_view as consistent_strategy,
    consistent_view_enabled as consistent_strategy_enabled,
    mirrored_view as mirrored_strategy,
    mirrored_view_enabled as mirrored_strategy_enabled,
)

# fmt: off
__all__ = [
    "assert_is_valid_distribute", "auto", "broadcast", "consistent_strategy",
    "consistent_strategy_enabled", "mirrored_strategy", "mirrored_strategy_enabled", "split",
]
# fmt: on
