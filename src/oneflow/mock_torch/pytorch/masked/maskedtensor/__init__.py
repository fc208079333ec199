"""``torch.masked.maskedtensor``: the class of masked tensors, and comparisons of them."""

from oneflow.mock_torch.pytorch.masked.maskedtensor.core import (
    is_masked_tensor as is_masked_tensor,
)
from oneflow.mock_torch.pytorch.masked_tensor import (
    MaskedTensor as MaskedTensor,
    as_masked_tensor as as_masked_tensor,
    masked_tensor as masked_tensor,
)
