"""The distribution of a blob over the devices of its job."""

from oneflow.base.sbp import BROADCAST as broadcast, split as split

__all__ = ["broadcast", "split"]
