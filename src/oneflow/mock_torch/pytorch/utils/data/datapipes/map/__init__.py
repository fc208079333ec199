"""``torch.utils.data.datapipes.map``: pipes of samples by key."""

from oneflow.mock_torch.pytorch.utils.data.datapipes.map.callable import (
    MapperMapDataPipe as Mapper,
)
from oneflow.mock_torch.pytorch.utils.data.datapipes.map.combinatorics import (
    ShufflerIterDataPipe as Shuffler,
)
from oneflow.mock_torch.pytorch.utils.data.datapipes.map.combining import (
    ConcaterMapDataPipe as Concater,
    ZipperMapDataPipe as Zipper,
)
from oneflow.mock_torch.pytorch.utils.data.datapipes.map.grouping import (
    BatcherMapDataPipe as Batcher,
)
from oneflow.mock_torch.pytorch.utils.data.datapipes.map.utils import (
    SequenceWrapperMapDataPipe as SequenceWrapper,
)

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
