"""Programs written for PyTorch, run on this package: ``import torch`` finds `oneflow`."""

from oneflow.mock_torch.importer import (
    ModuleWrapper as ModuleWrapper,
    OneflowImporter as OneflowImporter,
    disable as disable,
    enable as enable,
)
from oneflow.mock_torch.placeholder import Placeholder as Placeholder
