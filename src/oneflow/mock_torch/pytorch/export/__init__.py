"""``torch.export``: modules as recorded programs, see `oneflow.nn.Graph`."""

from oneflow.mock_torch.pytorch.export.archive import load as load, save as save
from oneflow.mock_torch.pytorch.export.dynamic_shapes import (
    Dim as Dim,
    ShapesCollection as ShapesCollection,
    dims as dims,
)
from oneflow.mock_torch.pytorch.export.exported_program import (
    ExportedProgram as ExportedProgram,
    ExportGraphSignature as ExportGraphSignature,
)
from oneflow.mock_torch.pytorch.export.recording import export as export
