"""Names of ``torch.fx.node`` that libraries import."""

from collections.abc import Callable
from typing import Any

from oneflow.mock_torch.missing import raise_tracing as map_arg
from oneflow.mock_torch.pytorch.fx.symbolic import Node

Target = Callable[..., Any] | str
Argument = Any

__all__ = ["Argument", "Node", "Target", "map_arg"]
