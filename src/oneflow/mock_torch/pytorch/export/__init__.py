"""``torch.export``: modules as recorded programs, see `oneflow.nn.Graph`."""

from oneflow.mock_torch.pytorch.export.archive import load as load, save as save
from oneflow.mock_torch.pytorch.export.dynamic_shapes import (
    Dim as Dim,
    ShapesCollection as ShapesCollection,
    dims as dims,
)
from oneflow.mock_torch.pytorch.export.examples import AdditionalInputs as AdditionalInputs
from oneflow.mock_torch.pytorch.export.exported_program import (
    ExportedProgram as ExportedProgram,
    ExportGraphSignature as ExportGraphSignature,
)
from oneflow.mock_torch.pytorch.export.recording import (
    draft_export as draft_export,
    export as export,
    register_dataclass as register_dataclass,
)
from oneflow.mock_torch.pytorch.export.unflatten import (
    FlatArgsAdapter as FlatArgsAdapter,
    UnflattenedModule as UnflattenedModule,
    unflatten as unflatten,
)
