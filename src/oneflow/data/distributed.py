"""A sampler that gives every process of a job its own part of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from oneflow.base import cluster
from oneflow.data.randomness import numbers_from
from oneflow.data.sampler import Sampler
from oneflow.tuning.host_memory import require_host_memory


class DistributedSampler(Sampler[int]):
    """Gives each of several processes its own part of the samples.

    All processes shuffle alike: the order depends on `seed` and on the epoch, which `set_epoch`
    sets.

    Args:
        dataset: the data set.
        num_replicas: number of processes, default from the launcher (`WORLD_SIZE`).
        rank: number of this process, default from the launcher (`RANK`).
        shuffle: take the samples in random order.
        seed: where the order comes from.
        drop_last: leave out samples so that all parts are equally long, instead of repeating some.

    Raises:
        ValueError: `rank` is not below `num_replicas`.

    Example:
        >>> import oneflow as flow
        >>> parts = [
        ...     list(flow.utils.data.DistributedSampler(range(5), 2, rank, shuffle=False))
        ...     for rank in range(2)
        ... ]
        >>> parts
        [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas = cluster.world_size() if num_replicas is None else num_replicas
        self.rank = cluster.rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"Invalid rank {self.rank}, rank should be in the interval [0, "
                f"{self.num_replicas - 1}]"
            )
        self.dataset = dataset
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed

    @property
    def num_samples(self) -> int:
        """The number of samples of each process."""
        quotient, rest = divmod(len(self.dataset), self.num_replicas)
        return quotient if self.drop_last or not rest else quotient + 1

    @property
    def total_size(self) -> int:
        """The number of samples of all processes together."""
        return self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        total = len(self.dataset)
        require_host_memory("DistributedSampler", max(total, self.total_size))
        order = list(range(total))
        if self.shuffle:
            order = numbers_from((self.seed, self.epoch)).permutation(total).tolist()
        if order:
            order = (order * (-(-self.total_size // total)))[: self.total_size]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch; call it on every process before each epoch."""
        self.epoch = epoch
