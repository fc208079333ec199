"""Names that ``torch.utils`` has beside `oneflow.utils`."""

from oneflow.mock_torch.pytorch.utils.swapping import swap_tensors as swap_tensors
