"""Names that ``torch.utils.data.dataloader`` has beside `oneflow.utils.data.dataloader`."""

from collections.abc import Callable
from typing import Any

from oneflow.data.loader import Batches as _BaseDataLoaderIter
from oneflow.data.loader_attributes import InfiniteConstantSampler as _InfiniteConstantSampler
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

# The types of the functions that loaders take, which libraries name in annotations.
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[Any]], Any]

__all__ = [
    "BatchSampler",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "_InfiniteConstantSampler",
    "_MultiProcessingDataLoaderIter",
    "_SingleProcessDataLoaderIter",
    "_collate_fn_t",
    "_utils",
    "_worker_init_fn_t",
]
