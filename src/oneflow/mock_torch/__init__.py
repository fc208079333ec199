"""Programs written for PyTorch, run on this package: ``import torch`` finds `oneflow`."""

from oneflow.mock_torch.importer import (
    ModuleWrapper as ModuleWrapper,
    OneflowImporter as OneflowImporter,
)
from oneflow.mock_torch.placeholder import PlaceholderModule as PlaceholderModule
from oneflow.mock_torch.switches import disable as disable, enable as enable

DummyModule = PlaceholderModule  # its name in earlier versions
