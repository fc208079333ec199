"""Names that ``torch.utils.data`` has beside `oneflow.utils.data`."""

from oneflow.data.datapipes import (
    DataChunk as DataChunk,
    DFIterDataPipe as DFIterDataPipe,
    MapDataPipe as MapDataPipe,
)
from oneflow.mock_torch.pytorch.utils.data import datapipes as datapipes, graph as graph
from oneflow.mock_torch.pytorch.utils.data.iterators import _DatasetKind as _DatasetKind
from oneflow.mock_torch.pytorch.utils.data.validation import (
    argument_validation as argument_validation,
    runtime_validation as runtime_validation,
    runtime_validation_disabled as runtime_validation_disabled,
)
