"""Samplers for several processes."""

from oneflow.data.distributed import DistributedSampler as DistributedSampler
