"""Pipes of batches."""

from __future__ import annotations

from typing import Any

from oneflow.data.datapipes import MapDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import BatcherDataPipe


@functional_datapipe("batch")
class BatcherMapDataPipe(BatcherDataPipe, MapDataPipe):
    """Batches of samples.

    Args:
        datapipe: the source.
        batch_size: the number of samples in a batch.
        drop_last: leave out the last batch if it is not full.
        wrapper_class: what a batch is made as.
    """

    def __getitem__(self, index: int) -> Any:
        batch: list[Any] = []
        try:
            positions = range(index * self.batch_size, (index + 1) * self.batch_size)
            batch.extend(self.datapipe[position] for position in positions)
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)
