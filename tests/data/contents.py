"""Data sets that plain pickle refuses, or that do not survive it; and their scripts.

A script is a program that prints the batches of a loader. It runs as a notebook's cells do, without
a file (`python -c`), so that its classes are in no module.
"""

import functools

import numpy as np


class OfModule:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index * 10


class SetStateNeverRan(OfModule):
    """Like data sets in mapped files that have only ever been copied by a fork."""

    def __init__(self, path):
        self.open(path, mode="r")

    def open(self, path, mode):
        self.path = path
        self.numbers = np.memmap(path, np.int64, mode)
        self.memory = memoryview(self.numbers)

    def __getstate__(self):
        return self.path

    def __setstate__(self, state):
        self.open(state)

    def __getitem__(self, index):
        (number,) = np.frombuffer(self.memory, np.int64, 1, offset=8 * index)
        return int(number)


class ReduceNeverRan(SetStateNeverRan):
    def __reduce__(self):
        raise NotImplementedError("nobody has asked for this before")


class WithSlots:
    __slots__ = ("factor", "lock")

    def __init__(self, lock):
        self.factor, self.lock = 10, lock

    def __len__(self):
        return 4

    def __getitem__(self, index):
        with self.lock:
            return index * self.factor


def times(factor, samples):
    return [sample * factor for sample in samples]


ten_times = functools.partial(times, 10)

IN_NOTEBOOK = """
class Mine(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return index * 10
"""
# Code of scripts that make `dataset` and `collate`, whose batches are [0, 10] and [20, 30].
CONTENTS = {
    "class of a module": "dataset = contents.OfModule()",
    "class of a notebook": f"{IN_NOTEBOOK}\ndataset = Mine()",
    "lambda": "dataset, collate = range(4), lambda samples: [10 * each for each in samples]",
    "local class": """
def make():
    class Local(contents.OfModule):
        def __getitem__(self, index):
            return super().__getitem__(index)
    return Local()
dataset = make()
""",
    "partial": "dataset, collate = range(4), contents.ten_times",
    "closure over a big array": """
def make(array):
    return lambda samples: array[samples].tolist()
dataset, collate = range(4), make(np.arange(0, 2_000_000, 10))
""",
    "global of a notebook": """
factor = 10
def collate(samples):
    return [factor * each for each in samples]
dataset = range(4)
""",
    "__setstate__ that never ran": "dataset = contents.SetStateNeverRan(path)",
    "__reduce__ that never ran": "dataset = contents.ReduceNeverRan(path)",
    "lock and slots": "dataset = contents.WithSlots(threading.Lock())",
    "class of a notebook that never ran __setstate__": """
class Mine(contents.SetStateNeverRan):
    def __setstate__(self, state):
        self.open(state)
dataset = Mine(path)
""",
    "open file": """
class Lines(contents.OfModule):
    def __init__(self):
        self.file = open(path, "rb")
    def __getitem__(self, index):
        self.file.seek(8 * index)
        return int.from_bytes(self.file.read(8), "little")
dataset = Lines()
""",
}
PROGRAM = """
import threading
import numpy as np
from oneflow.utils.data import DataLoader, Dataset
from tests.data import contents
path = {path!r}
collate = list
{content}
loader = DataLoader(
    dataset, 2, collate_fn=collate, num_workers=1,
    multiprocessing_context={method!r}, persistent_workers={persistent},
)
for _ in range({epochs}):
    print(*loader)
"""


def write_numbers(path):
    np.arange(0, 40, 10).tofile(path)


class Overwrites(OfModule):
    """Counts in an array how often this process has been asked."""

    def __init__(self, length):
        self.array = np.zeros(length, np.int64)

    def __getitem__(self, index):
        self.array[-1] += 1
        return int(self.array[-1]) - 1
