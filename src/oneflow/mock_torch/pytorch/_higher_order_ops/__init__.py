"""``torch._higher_order_ops``: functions of functions."""

from oneflow.mock_torch.pytorch._higher_order_ops.associative_scan import (
    associative_scan as associative_scan,
)
