"""Pipes of several pipes."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from oneflow.data.datapipes import MapDataPipe, functional_datapipe


class _Combined(MapDataPipe):
    """A pipe of several pipes.

    Args:
        datapipes: the sources.

    Raises:
        ValueError: there is none.
        TypeError: one is no `MapDataPipe`, or has no length.
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        if not all(isinstance(pipe, Sized) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `Sized`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(_Combined):
    """The samples of several pipes, one pipe after the other."""

    def __getitem__(self, index: int) -> Any:
        position = index
        for pipe in self.datapipes:
            if position < len(pipe):
                return pipe[position]
            position -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(_Combined):
    """Tuples of one sample of each of several pipes, as long as the shortest one."""

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        samples = []
        for pipe in self.datapipes:
            try:
                samples.append(pipe[index])
            except IndexError as error:
                raise IndexError(
                    f"Index {index} is out of range for one of the input MapDataPipes {pipe}."
                ) from error
        return tuple(samples)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)
