"""The importer as converters of models know it, by its path in earlier versions."""

from __future__ import annotations

from oneflow.mock_torch.importer import IMPORTER
from oneflow.mock_torch.switches import disable as disable, enable as enable


class _Importer:
    """The importer by its attributes in earlier versions."""

    @property
    def enable(self) -> bool:
        """True if ``import torch`` finds `oneflow`."""
        return IMPORTER.enabled

    @property
    def delete_list(self) -> list[str]:
        """The modules other than PyTorch's that were imported since it was enabled last."""
        return list(IMPORTER.recent)


_importer = _Importer()
