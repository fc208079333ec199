"""Names that ``torch.autograd`` has beside `oneflow.autograd`."""

from oneflow.mock_torch.pytorch.autograd.grad_mode import (
    enforce_grad_layout_policy as enforce_grad_layout_policy,
    set_multithreading_enabled as set_multithreading_enabled,
)
from oneflow.mock_torch.pytorch.autograd.nested_io import NestedIOFunction as NestedIOFunction
from oneflow.mock_torch.variable import Variable as Variable
from oneflow.profiler.profile import kineto_available as kineto_available
