"""Programs written for PyTorch, run on this package: ``import torch`` finds `oneflow`."""

from oneflow.mock_torch.importer import (
    ModuleWrapper as ModuleWrapper,
    OneflowImporter as OneflowImporter,
)
from oneflow.mock_torch.placeholder import Placeholder as Placeholder
from oneflow.mock_torch.switches import disable as disable, enable as enable

DummyModule = Placeholder  # its name in earlier versions
