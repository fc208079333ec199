"""``torch.utils.data.datapipes.datapipe``: the bases of pipes."""

from oneflow.data.datapipes import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]
