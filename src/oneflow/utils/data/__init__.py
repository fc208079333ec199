"""Data sets, samplers and the loader."""

from typing import TYPE_CHECKING

from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.data.collate import (
    default_collate as default_collate,
    default_convert as default_convert,
)
from oneflow.data.datapipes import (
    IterDataPipe as IterDataPipe,
    functional_datapipe as functional_datapipe,
    guaranteed_datapipes_determinism as guaranteed_datapipes_determinism,
    non_deterministic as non_deterministic,
)
from oneflow.data.dataset import (
    ChainDataset as ChainDataset,
    ConcatDataset as ConcatDataset,
    Dataset as Dataset,
    IterableDataset as IterableDataset,
    StackDataset as StackDataset,
    Subset as Subset,
    TensorDataset as TensorDataset,
    random_split as random_split,
)
from oneflow.data.distributed import DistributedSampler as DistributedSampler
from oneflow.data.loader import DataLoader as DataLoader
from oneflow.data.sampler import (
    BatchSampler as BatchSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)
from oneflow.data.worker import WorkerInfo as WorkerInfo, get_worker_info as get_worker_info
from oneflow.utils.data import (
    dataloader as dataloader,
    dataset as dataset,
    distributed as distributed,
    sampler as sampler,
)

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)
