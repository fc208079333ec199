"""Names that ``torch.utils.data.dataloader`` has beside `oneflow.utils.data.dataloader`."""

from oneflow.data.loader import Batches as _BaseDataLoaderIter
from oneflow.mock_torch.pytorch.utils.data import _utils
from oneflow.mock_torch.pytorch.utils.data.iterators import (
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from oneflow.utils.data import (
    BatchSampler,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

__all__ = [
    "BatchSampler",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_utils",
]
