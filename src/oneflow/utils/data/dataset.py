"""Data sets."""

from oneflow.data.dataset import ChainDataset as ChainDataset
from oneflow.data.dataset import ConcatDataset as ConcatDataset
from oneflow.data.dataset import Dataset as Dataset
from oneflow.data.dataset import IterableDataset as IterableDataset
from oneflow.data.dataset import Subset as Subset
from oneflow.data.dataset import TensorDataset as TensorDataset
from oneflow.data.dataset import random_split as random_split
