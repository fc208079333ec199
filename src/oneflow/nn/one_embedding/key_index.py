"""Positions by keys: a hash table of NumPy arrays that looks up many keys at once."""

from __future__ import annotations

import numpy as np

_EMPTY = -1


def mixed(keys: np.ndarray) -> np.ndarray:
    """Return hashes of integers, uint64: the finalizer of SplitMix64 (Steele et al., 2014).

    Example:
        >>> import numpy as np
        >>> from oneflow.nn.one_embedding.key_index import mixed
        >>> int(mixed(np.array([1], np.int64))[0])
        6238072747940578789
    """
    h = keys.astype(np.uint64)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


class KeyIndex:
    """The numbers 0, 1, ... of keys, in the order in which they were added.

    Open addressing with linear probing; at most half of the places are taken.
    """

    def __init__(self) -> None:
        self.size = 0
        self._keys = np.zeros(1024, np.int64)
        self._numbers = np.full(1024, _EMPTY, np.int64)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of keys, -1 for unknown ones."""
        result = np.full(len(keys), _EMPTY, np.int64)
        mask = len(self._numbers) - 1
        places = self._first_places(keys)
        pending = np.arange(len(keys))
        while pending.size:
            at = places[pending]
            numbers = self._numbers[at]
            hit = (numbers != _EMPTY) & (self._keys[at] == keys[pending])
            result[pending[hit]] = numbers[hit]
            pending = pending[~hit & (numbers != _EMPTY)]
            places[pending] = (places[pending] + 1) & mask
        return result

    def add(self, keys: np.ndarray) -> np.ndarray:
        """Give numbers to keys that are unknown and differ from each other; return the numbers."""
        self._resize_for(self.size + len(keys))
        numbers = np.arange(self.size, self.size + len(keys))
        self._place(keys, numbers)
        self.size += len(keys)
        return numbers

    def keys(self) -> np.ndarray:
        """Return all keys in the order of their numbers."""
        ordered = np.empty(self.size, np.int64)
        taken = self._numbers != _EMPTY
        ordered[self._numbers[taken]] = self._keys[taken]
        return ordered

    def _resize_for(self, count: int) -> None:
        if 2 * count <= len(self._numbers):
            return
        keys = self.keys()
        length = 1 << (2 * count - 1).bit_length()
        self._keys = np.zeros(length, np.int64)
        self._numbers = np.full(length, _EMPTY, np.int64)
        self._place(keys, np.arange(len(keys)))

    def _first_places(self, keys: np.ndarray) -> np.ndarray:
        return (mixed(keys) & np.uint64(len(self._numbers) - 1)).astype(np.int64)

    def _place(self, keys: np.ndarray, numbers: np.ndarray) -> None:
        mask = len(self._numbers) - 1
        places = self._first_places(keys)
        waiting = np.arange(len(keys))
        while waiting.size:
            at = places[waiting]
            free = self._numbers[at] == _EMPTY
            # If several keys want one place, the last one written gets it.
            self._numbers[at[free]] = numbers[waiting[free]]
            written = free & (self._numbers[at] == numbers[waiting])
            self._keys[at[written]] = keys[waiting[written]]
            waiting = waiting[~written]
            places[waiting] = (places[waiting] + 1) & mask
