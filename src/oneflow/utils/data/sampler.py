"""Samplers."""

from oneflow.data.sampler import (
    BatchSampler as BatchSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)
