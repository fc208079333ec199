"""The autograd graph: its nodes, and how they keep what they save."""

from oneflow.differentiation.node import Node as Node
from oneflow.functional.saved_tensors import (
    save_on_cpu as save_on_cpu,
    saved_tensors_hooks as saved_tensors_hooks,
)
