"""Data sets and functions of the loader's tests; worker processes import this module."""

import os
import pickle
import random
import signal

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
    """The facts that a worker knows about itself."""

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


class TensorsOfArrays(Dataset):
    """Samples that only pass arrays on."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        sample = {"x": flow.from_numpy(np.full((3, 2), index, np.float32)), "y": flow.tensor(index)}
        return sample, len(jax._src.xla_bridge._backends)


class ComputesWithArrays(Dataset):
    """Samples that are computed of arrays in the ways that tensors can be used."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        array = np.arange(6, dtype=np.float32).reshape(3, 2) + index
        tensor, kept = flow.from_numpy(array), flow.tensor(array)
        array[...] = -1
        view = tensor.reshape(2, 3)[1]
        view.mul_(10)
        tensor[0] = 7.5
        weight = flow.tensor(array, requires_grad=True)
        (weight * kept).sum().backward()
        copies = tensor.detach(), tensor.clone(), pickle.loads(pickle.dumps(kept))
        number = kept[1, 1].item() + float(kept.numpy().sum())
        return tensor, view, kept * 2, weight.grad, flow.stack([tensor, kept]), copies, number


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
        if self.how in ODD_EXCEPTIONS:
            raise ODD_EXCEPTIONS[self.how](1, 2)
        if self.how == "stop":
            next(iter(()))
        if self.how == "exit":
            os._exit(7)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            signal.pause()


class Odd(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


class WantsANumber(Exception):
    def __init__(self, one, other=None):
        super().__init__(int(one))


class WantsAttributes(Exception):
    def __init__(self, one, other=None):
        super().__init__(one.real)


class IsNothing(Exception):
    def __new__(cls, one, other=None):
        return None if isinstance(one, str) else super().__new__(cls, one, other)


class CannotBeShown(Exception):
    def __str__(self):
        return f"{self.args[1]}"


class SaysTheSame(Exception):
    def __init__(self, *content):
        super().__init__("always this")


# Exceptions that cannot be made again of a text, or do not show it.
ODD_EXCEPTIONS = {
    function.__name__: function
    for function in (Odd, WantsANumber, WantsAttributes, IsNothing, CannotBeShown, SaysTheSame)
}


class Texts(Dataset):
    """As many texts as asked for: neither they nor their indices fit into a pipe."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return f"sample number {index} and then some"


class StopsAtOnce(IterableDataset):
    def __iter__(self):
        return next(iter(()))


class InBatches(Dataset):
    def __len__(self):
        return 4

    def __getitems__(self, indices):
        return next(iter(()))


def stop(*samples):
    return next(iter(()))


def generate(samples):
    return (sample for sample in samples)


class HoldsGenerator(Squares):
    def __init__(self):
        super().__init__()
        self.numbers = (number for number in range(10))


class FailsToUnpack(list):
    """Has more than attributes: only its own functions can make a copy."""

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


def to_length(samples):
    return len(samples)


def to_sum(samples):
    return sum(samples)


def as_tensors(samples):
    return flow.tensor(samples), np.array(samples), "text"


def seed_by_number(number):
    random.seed(number)


def fail_at_start(number):
    raise RuntimeError(f"worker {number} cannot start")


class MixedTensors(Dataset):
    """Tensors of two dtypes: NumPy would make float64 of them, tensors make float32."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        number = flow.tensor([index, 1])
        return number if index % 2 else number.to(flow.float32)
