"""Pipes of batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.data.datapipes import DataChunk, MapDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.iter.grouping import number_of_batches
from oneflow.mock_torch.pytorch.utils.data.datapipes.iter.utils import length_of


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Batches of samples.

    Args:
        datapipe: the source.
        batch_size: the number of samples in a batch.
        drop_last: leave out the last batch if it is not full.
        wrapper_class: what a batch is made as.
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index: int) -> Any:
        batch: list[Any] = []
        try:
            positions = range(index * self.batch_size, (index + 1) * self.batch_size)
            batch.extend(self.datapipe[position] for position in positions)
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        length = length_of(self, self.datapipe)
        return number_of_batches(length, self.batch_size, self.drop_last)
