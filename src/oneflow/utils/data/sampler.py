"""Samplers."""

from oneflow.data.sampler import BatchSampler as BatchSampler
from oneflow.data.sampler import RandomSampler as RandomSampler
from oneflow.data.sampler import Sampler as Sampler
from oneflow.data.sampler import SequentialSampler as SequentialSampler
from oneflow.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from oneflow.data.sampler import WeightedRandomSampler as WeightedRandomSampler
