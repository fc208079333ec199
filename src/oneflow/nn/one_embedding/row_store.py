"""Rows of one process by number, in memory or in files with a cache in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

_ROWS_PER_BLOCK = 4096


class RowStore:
    """A growing array of rows, divided into blocks.

    Args:
        width: numbers in a row.
        folder: where files of blocks are; None: all blocks are in memory.
        cache_bytes: the bytes of blocks that are mapped into memory at once, if there are files.
    """

    def __init__(self, width: int, folder: Path | None, cache_bytes: int) -> None:
        self.width, self.count = width, 0
        self._folder = folder
        self._limit = max(cache_bytes // (4 * width * _ROWS_PER_BLOCK), 1)
        self._blocks: OrderedDict[int, np.ndarray] = OrderedDict()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            # Blocks of an earlier process are outdated: snapshots hold the rows.
            for file in folder.glob("block-*"):
                file.unlink()

    @property
    def blocks_in_memory(self) -> int:
        """The number of blocks that are in memory or mapped into it."""
        return len(self._blocks)

    def append(self, rows: np.ndarray) -> None:
        """Add rows behind the last one."""
        numbers = np.arange(self.count, self.count + len(rows))
        self.count += len(rows)
        self.write(numbers, rows)

    def read(self, numbers: np.ndarray) -> np.ndarray:
        """Return rows."""
        rows = np.empty((len(numbers), self.width), np.float32)
        for block, indices, at in self._parts(numbers):
            rows[indices] = block[at]
        return rows

    def write(self, numbers: np.ndarray, rows: np.ndarray) -> None:
        """Replace rows."""
        for block, indices, at in self._parts(numbers):
            block[at] = rows[indices]

    def _parts(self, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield each block that has some of the rows, which ones, and where in the block."""
        order = np.argsort(numbers, kind="stable")
        blocks = numbers[order] // _ROWS_PER_BLOCK
        first = np.flatnonzero(np.diff(blocks, prepend=-1))
        for start, end in pairwise([*first, len(numbers)]):
            indices = order[start:end]
            yield self._block(int(blocks[start])), indices, numbers[indices] % _ROWS_PER_BLOCK

    def _block(self, number: int) -> np.ndarray:
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = self._open_block(number)
            if self._folder is not None and len(self._blocks) > self._limit:
                # The file keeps the written rows when the mapping is dropped.
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return block

    def _open_block(self, number: int) -> np.ndarray:
        shape = (_ROWS_PER_BLOCK, self.width)
        if self._folder is None:
            return np.zeros(shape, np.float32)
        file = self._folder / f"block-{number}"
        return np.memmap(file, np.float32, "r+" if file.exists() else "w+", shape=shape)
