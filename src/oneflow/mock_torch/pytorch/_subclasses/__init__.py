"""Names of ``torch._subclasses``."""

from oneflow.mock_torch.pytorch._subclasses.cross_reference import (
    CrossRefFakeMode as CrossRefFakeMode,
)
from oneflow.mock_torch.pytorch._subclasses.fake_tensor import (
    FakeTensor as FakeTensor,
    FakeTensorMode as FakeTensorMode,
)
