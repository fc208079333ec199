"""Data sets and functions of the loader's tests; worker processes import this module."""

import os
import random
import signal
import time

import jax
import numpy as np

import oneflow as flow
from oneflow.utils.data import Dataset, IterableDataset, get_worker_info


class Squares(Dataset):
    def __init__(self, length=10):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return {"x": np.full((2,), index, np.float32), "square": index**2, "name": f"n{index}"}


class Count(IterableDataset):
    """The numbers up to `length`, shared out among the workers."""

    def __init__(self, length=7):
        self.length = length

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.length, step))


class Random(Dataset):
    """Random numbers of the three kinds."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        stream = flow.default_generator.next_stream()
        return np.array([random.random(), np.random.rand(), hash(stream) % 1000, index])


class About(Dataset):
    """What a worker knows about itself."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        return (info.id, info.num_workers, os.getpid(), type(info.dataset).__name__)


class XlaStarted(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return len(jax._src.xla_bridge._backends)


class MakesTensors(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return flow.ones(2) * index, [flow.tensor(index)]


class Misbehaves(Dataset):
    """Does something terrible at sample 3."""

    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 3:
            return self.misbehave()
        return index

    def misbehave(self):
        if self.how == "raise":
            raise ValueError("sample 3 is broken")
        if self.how == "key":
            return {}["missing"]
        if self.how == "odd":
            raise Odd(1, 2)
        if self.how == "exit":
            os._exit(7)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
        return 0


class Odd(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


class FailsToUnpack(Dataset):
    def __len__(self):
        return 1

    def __setstate__(self, state):
        raise OSError("no such disk")

    def __getstate__(self):
        return {"a": 1}


class FailsToStart(IterableDataset):
    def __iter__(self):
        raise LookupError("nothing to read")


class Large(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return np.full((64, 64, 3), index, np.float32), np.zeros((0, 5)), index


def keep_list(samples):
    return samples


def to_sum(samples):
    return sum(samples)


def as_tensors(samples):
    return flow.tensor(samples), np.array(samples), "text"


def seed_by_number(number):
    random.seed(number)


def fail_at_start(number):
    raise RuntimeError(f"worker {number} cannot start")
