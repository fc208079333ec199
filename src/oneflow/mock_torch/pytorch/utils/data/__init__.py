"""Names that ``torch.utils.data`` has beside `oneflow.utils.data`."""

from oneflow.mock_torch.pytorch.utils.data.iterators import _DatasetKind as _DatasetKind
