"""Samplers for several processes."""

from oneflow.data.dataset import T_co as T_co
from oneflow.data.distributed import DistributedSampler as DistributedSampler
