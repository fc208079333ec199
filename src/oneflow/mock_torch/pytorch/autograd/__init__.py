"""Names that ``torch.autograd`` has beside `oneflow.autograd`."""

from oneflow.mock_torch.variable import Variable as Variable
from oneflow.profiler.profile import kineto_available as kineto_available
