"""Objects that come from packages."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from oneflow.mock_torch.pytorch.package._mangling import is_mangled


def is_from_package(obj: Any) -> bool:
    """Return whether a module, or the class of an object, comes from a package."""
    name = obj.__name__ if isinstance(obj, ModuleType) else type(obj).__module__
    return is_mangled(name)
